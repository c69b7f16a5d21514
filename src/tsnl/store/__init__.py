"""Results as files: plain JSON, npz and safetensors."""
