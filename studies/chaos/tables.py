"""All tables of `results/chaos/README.md`, from the rows beside it.

Not here: what the rows hold (`studies.chaos.rows`).
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from measuring.markdown import commits_cell, markdown
from pipeline.results.formats import cell
from studies.chaos.judging import OUTCOMES
from studies.chaos.rows import DID_NOT_GO_BACK, NO, YES, kill_rows, run_rows
from studies.chaos.soak import HELD, compared, soak_rows

_NOTHING = "nothing"


def tables(folder: Path) -> Mapping[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    kills, runs = kill_rows(folder).frame(), run_rows(folder).frame()
    kills["roles"] = kills["roles"].fillna("")
    runs[["faults", "end_reason"]] = runs[["faults", "end_reason"]].fillna("")
    return {
        "kinds": kinds_table(kills, runs),
        "victims": victims_table(kills),
        "roles": roles_table(kills),
        "losses": losses_table(kills),
        "faults": faults_table(runs),
        "soak": soak_table(soak_rows(folder).frame()),
    }


def soak_table(looked: pd.DataFrame) -> str:
    """A line for each thing that is held: then, later, and how much more; SoakRows."""
    if looked.empty:
        return "Not measured yet."
    return markdown(
        {
            "held": HELD[name],
            "second quarter of the time": cell(early, 1),
            "last quarter": cell(late, 1),
            "more": f"{late / early - 1:+.1%}",
            "minutes": cell(looked["seconds"].max() / 60, 0),
            "frames": f"{looked['num_frames'].max():,}",
            "commit": commits_cell(looked["commit"]),
        }
        for name, (early, late) in compared(looked).items()
    )


def kinds_table(kills: pd.DataFrame, runs: pd.DataFrame) -> str:
    """A line a kind of run: how many, how they ended, what was left; KillRows and RunRows."""
    keys = ["system", "cluster", "replacement", "shards"]
    lines = []
    for kind, those in runs.groupby(keys):
        of_kind = kills[(kills[keys] == list(kind)).all(axis=1)]
        lines.append(
            {
                **dict(zip(("system", "cluster", "hosts come back", "shards"), map(str, kind), strict=True)),
                "runs": str(len(those)),
                "kills": str(len(of_kind)),
                "commands typed": str(those["num_starts"].sum()),
                "with a result": str((those["end_reason"].isin(["budget", "score"])).sum()),
                "hung": str((those["within_deadline"] == NO).sum()),
                "rows doubled": str(those["rows_doubled"].sum()),
                "rows lost": str(those["rows_lost"].sum()),
                "processes, ports, roles, files left": str(
                    those[["processes_left", "ports_left", "roles_left", "files_left"]].to_numpy().sum()
                ),
                "commit": commits_cell(those["commit"]),
            }
        )
    return markdown(lines)


def victims_table(kills: pd.DataFrame) -> str:
    """A line a victim and signal: what became of it; KillRows."""
    return _outcomes_table(
        [({"victim": str(victim), "signal": str(which)}, those) for (victim, which), those in _by_victim(kills)]
    )


def roles_table(kills: pd.DataFrame) -> str:
    """A line a role, whatever its number: a host that had several roles counts for each; KillRows of hosts, nannies."""
    of_hosts = kills[kills["victim"].isin(["host", "nanny"])]
    kinds = of_hosts["roles"].map(lambda roles: {role.rsplit("-", 1)[0] for role in roles.split()} or {_NOTHING})
    names = sorted(set[str]().union(*kinds))
    return _outcomes_table(
        [({"on the host": name}, of_hosts[kinds.map(lambda those, name=name: name in those)]) for name in names]
    )


def losses_table(kills: pd.DataFrame) -> str:
    """A line a victim and signal: what it cost; KillRows."""
    return markdown(
        {
            "victim": str(victim),
            "signal": str(which),
            "times": str(len(those)),
            "sent the run back to a checkpoint": str((those["went_back_to"] != DID_NOT_GO_BACK).sum()),
            "updates lost, median (most)": _median_and_most(
                those[those["went_back_to"] != DID_NOT_GO_BACK]["updates_lost"]
            ),
            "seconds of training lost, median (most)": _median_and_most(
                those[those["went_back_to"] != DID_NOT_GO_BACK]["seconds_lost"]
            ),
            "seconds without a new row, median (most)": _median_and_most(those["seconds_without_rows"]),
        }
        for (victim, which), those in _by_victim(kills)
    )


def faults_table(runs: pd.DataFrame) -> str:
    """A line a run with which something is wrong, or one that says that there is none; RunRows."""
    wrong = runs[runs["faults"] != ""]
    if wrong.empty:
        return markdown([{"run": f"all {len(runs)}", "what is wrong": _NOTHING}])
    return markdown(
        {
            "run": f"{row['run']} (seed {row['seed']}): {row['system']}, {row['cluster']}",
            "what is wrong": str(row["faults"]),
        }
        for row in wrong.sort_values(["seed", "run"]).to_dict("records")
    )


def _by_victim(kills: pd.DataFrame) -> "list[tuple[tuple[str, str], pd.DataFrame]]":
    return [((str(a), str(b)), those) for (a, b), those in kills.groupby(["victim", "signal"])]


def _outcomes_table(groups: "list[tuple[dict[str, str], pd.DataFrame]]") -> str:
    return markdown(
        {
            **key,
            "times": str(len(those)),
            **{outcome: str((those["outcome"] == outcome).sum()) for outcome in OUTCOMES},
            "named": f"{(those['named'] == YES).sum()} of {those['named'].isin([YES, NO]).sum()}",
        }
        for key, those in groups
    )


def _median_and_most(values: "pd.Series[float]") -> str:
    return "" if values.empty else f"{cell(values.median(), 0)} ({cell(values.max(), 0)})"
