"""What runs underneath: progress, compiled programs, blocks of one size."""
