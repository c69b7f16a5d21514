"""Why a measurement differs from the paper's claim, in words, under the claim's key: edit by hand."""

REASONS: dict[str, str] = {
    "svssm-abc": """
SMC-ABC compares whole series by their Euclidean distance. Series of the volatility model are noise
around zero, and the correlation between assets hardly changes how far two of them are apart: what
is accepted stays close to the prior at every budget. The paper names no summary; one such as the
correlation of the columns may do better, which was not tried.
""",
    "svssm-pmmh": """
With as many particles as the variance of the log-likelihood asks for, particle MCMC at its largest
budget has the bias and the spread of the reference posterior itself: it is exact, as theory has it.
At 100,000 calls there is only enough for a few dozen steps with 16 particles, whose estimates are
so noisy that chains stick where they start: draws that are tightly clustered in the wrong place.
What the paper saw looks like too few particles or steps.
""",
    "svssm-wide": """
SMC-ABC's spread is seven times that of T-SNL and of the reference, as claimed; but SNL's is no
smaller. With the paper's flow (five layers of five hidden layers) SNL learns next to nothing of the
correlation from 10,000 series of 200 numbers. A shallower flow does better on one series
(`benchmarks/snl_flow.py`: 0.39 in place of 0.71, where T-SNL has 0.04), and worse on the linear
model.
""",
    "lvssm-abc": """
SMC-ABC does get better as its cost grows, but not similar: at 5 million calls it is further from
the reference than T-SNL at 10,000. It compares all 50 counts, and a simulated trajectory with the
phase of the observed one is rare.
""",
    "lvssm-snl": """
SNL improves fourfold up to 100,000 calls, and in that we differ; from there to a million it does
not improve, and in that we agree. Ours sees asinh-transformed counts and stops early on held-out
series; the paper says nothing of either.
""",
    "lvssm-pmmh": """
As on the volatility model, above.
""",
    "single-run": """
One simulated series shows the kernel a single value of theta: how the law of the rows changes with
theta is not in it, and the posterior stays about as wide as the prior. The paper claims it for some
scenarios without naming one. One simulation a round, which is what it shows, works.
""",
    "lag": """
The rule is better than any fixed lag on the linear model, and within a quarter of the best on
predator-prey. On volatility, whose rows are uncorrelated, it takes lag 1 in four of five series and
is as good as any; in the fifth a chance correlation at lag 24 crosses the threshold of 0.2, and the
distance there is 0.27. A threshold that knows the length of the series, such as 2 / sqrt(T), would
not cure chance at 25 lags either.
""",
    "ablation": """
At these budgets (10,000 and 25,000 calls) the paper's recipe is two to four times as far from the
reference as the default one. On predator-prey the summaries of the far past bring the most, then
the ensemble and the averaging of weights; on the linear model the density itself does: with all the
rest of the default, the paper's flow is as good as the mixture on predator-prey and twice as far on
the linear model, at several times the training time. Members beyond two buy little.
""",
}
