"""Writes `rliable_reference.json`: fixed arrays of scores, and what rliable says about them.

rliable 1.2.0 pins arch<8, which does not import beside pandas 3, so it runs in an environment of its own:

    python -m venv /tmp/rliable && /tmp/rliable/bin/pip install rliable==1.2.0 'pandas<3' 'arch<8'
    /tmp/rliable/bin/python tests/results/make_rliable_reference.py
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rliable import library, metrics  # type: ignore[import-not-found]

NUM_RESAMPLES = 50_000


def main() -> None:
    """Make the arrays anew, ask rliable, write the file."""
    rng = np.random.default_rng(20260101)
    levels = rng.lognormal(4.3, 1.0, 12)
    # Percent of the human: some games far above 100, one below the random player.
    levels[3] = -12.0
    x = np.round(levels * rng.lognormal(0.1, 0.3, (5, 12)), 1)
    y = np.round(levels * rng.lognormal(0.0, 0.3, (4, 12)), 1)
    taus = [0.0, 25.0, 50.0, 100.0, 200.0, 400.0]

    def aggregates(scores: np.ndarray) -> np.ndarray:
        return np.array(
            [
                metrics.aggregate_mean(scores),
                metrics.aggregate_median(scores),
                metrics.aggregate_iqm(scores),
                metrics.aggregate_optimality_gap(scores, gamma=100.0),
            ]
        )

    points, intervals = library.get_interval_estimates(
        {"x": x}, aggregates, reps=NUM_RESAMPLES, random_state=np.random.RandomState(0)
    )
    profiles, bands = library.create_performance_profile({"x": x}, np.array(taus), reps=2000)
    improvement, improvement_interval = library.get_interval_estimates(
        {"x,y": (x, y)}, metrics.probability_of_improvement, reps=2000, random_state=np.random.RandomState(0)
    )
    reference = {
        "versions": {package: version(package) for package in ("rliable", "arch", "numpy", "scipy", "pandas")},
        "x": x.tolist(),
        "y": y.tolist(),
        "statistics": ["mean", "median", "iqm", "optimality_gap"],
        "values": points["x"].tolist(),
        "intervals": intervals["x"].T.tolist(),
        "taus": taus,
        "profile": profiles["x"].tolist(),
        "profile_bands": bands["x"].T.tolist(),
        "improvement": float(np.squeeze(improvement["x,y"])),
        "improvement_interval": np.ravel(improvement_interval["x,y"]).tolist(),
    }
    Path(__file__).with_name("rliable_reference.json").write_text(json.dumps(reference, indent=1) + "\n")


if __name__ == "__main__":
    main()
