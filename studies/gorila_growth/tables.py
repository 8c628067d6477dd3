"""All tables of `results/gorila_growth/README.md`, from the rows beside it.

Not here: figures (`studies.gorila_growth.figures`).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from measuring.markdown import commits_cell, counted, markdown, median_cell
from pipeline.results.formats import cell
from pipeline.results.published import load_published
from studies.dba3c.simulation import simulation_rows as dba3c_rows
from studies.gorila_growth import costs as cost_file
from studies.gorila_growth.figures import SYNCHRONOUS
from studies.gorila_growth.grid import BUNDLES, CHECK, FACTORS, FLOAT32, LIMIT, MEMORY, NETWORK, PAYS, SHARDS, WIRES
from studies.gorila_growth.growth import growth_rows
from studies.gorila_growth.senders import senders_rows
from studies.gorila_growth.simulation import runs_beside, simulation_rows
from studies.row_file import kinds_of

NOT_YET = "Not measured yet."
_RATE = "steps_per_second"
_MEBIBYTE = 2**20
_DBA3C_NETWORK = "ba3c_authors_32"
_COMPARED_SHARDS = 16


def tables(folder: Path) -> Mapping[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    simulated, real = simulation_rows(folder).frame(), growth_rows(folder).frame()
    dba3c = dba3c_rows(folder.parent / "dba3c").frame()
    return {
        "parts": parts_table(folder / "costs.json"),
        "prediction": prediction_table(simulated, runs_beside(real, folder / "costs.json")),
        "bundles": bundles_table(simulated[simulated["study"] == BUNDLES]),
        "shards": shards_table(simulated[simulated["study"] == SHARDS]),
        "network": network_table(simulated[simulated["study"] == NETWORK]),
        "pays": pays_table(simulated[simulated["study"] == PAYS]),
        "limit": limit_table(simulated[simulated["study"] == LIMIT]),
        "published": published_table(simulated[simulated["study"] == BUNDLES], dba3c),
        "real": real_table(real),
        "memory": memory_table(real),
        "senders": senders_table(senders_rows(folder).frame()),
    }


def parts_table(path: Path) -> str:
    """What the parts cost on a machine that is equally fast for all, a line a wire."""
    rounds = {wire: cost_file.load(path, wire) for wire in (*WIRES, MEMORY)}
    alike = cost_file.at_one_speed({wire: cost_file.merged(several) for wire, several in rounds.items() if several})
    lines = []
    for wire in (wire for wire in WIRES if wire in alike):
        costs, full_speed, _ = alike[wire]
        size, one = costs.num_params, costs.wire
        milliseconds = {
            "play of 16 lanes": sum(costs.play_seconds) / len(costs.play_seconds),
            "gradient": sum(costs.gradient_seconds) / len(costs.gradient_seconds),
            "push and update, same process": costs.direct.push.seconds(size),
            "pull, same process": costs.direct.pull.seconds(size),
            "push, both sides of TCP": one.push.caller.seconds(size) + one.push.server.seconds(size),
            "pull, both sides of TCP": one.pull.caller.seconds(size) + one.pull.server.seconds(size),
            "message, both sides": one.message.caller.fixed + one.message.server.fixed,
            "on the way": one.latency_seconds,
        }
        facts = cost_file.measured_on(path, wire)
        lines.append(
            {"wire": wire, "rounds": str(len(rounds[wire]))}
            | {f"{name}, ms": cell(1e3 * seconds, 2) for name, seconds in milliseconds.items()}
            | {
                "speed of a core when all are busy": cell(full_speed, 2),
                "beside it": ", ".join(dict.fromkeys(fact["beside"] for fact in facts)),
                "commit": commits_cell(fact["commit"] for fact in facts),
            }
        )
    return markdown(lines) if lines else NOT_YET


def prediction_table(simulated: pd.DataFrame, real: pd.DataFrame) -> str:
    """Measured and simulated steps per second and staleness of the same bundles on this machine."""
    lines = []
    for _, case in simulated[simulated["study"] == CHECK].iterrows():
        runs = real[
            (real["study"] == BUNDLES) & (real["cluster"] == case.cluster) & (real["num_roles"] == case.num_bundles)
        ]
        lines.append(
            {
                "cluster": str(case.cluster),
                "bundles": str(case.num_bundles),
                "rounds": str(len(runs)),
                "measured steps/s": median_cell(runs[_RATE], 0) if len(runs) else "not yet",
                "simulated steps/s": cell(case.steps_per_second, 0),
                "error": f"{100 * (case.steps_per_second / runs[_RATE].median() - 1):+.1f} %" if len(runs) else "",
                "measured staleness": median_cell(runs["mean_staleness"], 2) if len(runs) else "not yet",
                "simulated staleness": cell(case.mean_staleness, 2),
                "beside the runs": ", ".join(dict.fromkeys(runs["beside"])),
            }
        )
    return markdown(lines) if lines else NOT_YET


def bundles_table(rows: pd.DataFrame) -> str:
    """Times the speed of one bundle, and staleness, a line a number of bundles."""
    lines = []
    for num_bundles, alike in rows.groupby("num_bundles"):
        line = {"bundles": str(num_bundles)}
        for num_shards in sorted(set(rows["num_shards"])):
            one = rows[(rows["num_bundles"] == 1) & (rows["num_shards"] == num_shards)][_RATE]
            here = alike[alike["num_shards"] == num_shards]
            text = ""
            if len(here):
                gain = here[_RATE].iloc[0] / one.iloc[0]
                text = f"{cell(gain, 1)} ({cell(here['mean_staleness'].iloc[0], 1)})"
            line[counted(num_shards, "shard")] = text
        lines.append(line)
    return markdown(lines) if lines else NOT_YET


def shards_table(rows: pd.DataFrame) -> str:
    """Steps per second of as many bundles as the paper had over the shards, a line a wire."""
    return _across(rows, ["wire"], "num_shards", "shard")


def network_table(rows: pd.DataFrame) -> str:
    """Steps per second over the network's speed, a line for each wire."""
    lines = []
    for wire, alike in rows.groupby("wire", sort=False):
        speeds = {
            f"{gigabits:g} Gbit/s": f"{cell(row[_RATE].iloc[0], 0)} ({cell(row['mean_staleness'].iloc[0], 0)})"
            for gigabits, row in alike.groupby("gigabits_per_second")
        }
        lines.append({"wire": str(wire)} | speeds)
    return markdown(lines) if lines else NOT_YET


def pays_table(rows: pd.DataFrame) -> str:
    """Steps per second with factors over those with numbers, over the network's speed, a line a number of bundles."""
    lines = []
    for num_bundles, alike in rows.groupby("num_bundles"):
        rates = alike.set_index(["gigabits_per_second", "wire"])[_RATE].unstack()
        ratios = (rates[FACTORS] / rates[FLOAT32]).sort_index()
        lines.append(
            {"bundles": str(num_bundles)}
            | {f"{gigabits:g} Gbit/s": cell(ratio, 2) for gigabits, ratio in ratios.items()}
        )
    return markdown(lines) if lines else NOT_YET


def limit_table(rows: pd.DataFrame) -> str:
    """What the limit of staleness drops, a line a limit."""
    lines = [
        {
            "limit, versions for each bundle": str(row.staleness_per_bundle or "none"),
            "steps/s": cell(row.steps_per_second, 0),
            "updates/s": cell(row.updates_per_second, 0),
            "dropped": f"{100 * row.stale_share:.1f} %",
            "mean staleness": cell(row.mean_staleness, 1),
            "largest": str(row.max_staleness),
        }
        for _, row in rows.iterrows()
    ]
    return markdown(lines) if lines else NOT_YET


def published_table(rows: pd.DataFrame, dba3c: pd.DataFrame) -> str:
    """Shares of the ideal speed, each system against its own smallest."""
    if rows.empty:
        return NOT_YET
    published = load_published("scaling")
    workers = dba3c[(dba3c["study"] == "workers") & (dba3c["network"] == _DBA3C_NETWORK)]
    shares = {
        f"Gorila simulated, {_COMPARED_SHARDS} shards": _shares(
            rows[rows["num_shards"] == _COMPARED_SHARDS].set_index("num_bundles")[_RATE]
        ),
        f"DBA3C simulated, `{_DBA3C_NETWORK}`": _shares(workers.set_index("num_workers")["data_points_per_second"]),
        f"{SYNCHRONOUS}, learners": published.loc[[SYNCHRONOUS]].set_index("num")["efficiency"],
        "DBA3C published": published.loc[["DBA3C"]].set_index("num")["efficiency"],
    }
    sizes = sorted({*shares[f"{SYNCHRONOUS}, learners"].index, *shares["DBA3C published"].index})
    return markdown(
        {"times the smallest": str(size)}
        | {name: cell(of.loc[size], 2) if size in of.index else "" for name, of in shares.items()}
        for size in sizes
    )


def real_table(real: pd.DataFrame) -> str:
    """Steps per second of real runs, a line for each size."""
    lines = []
    for place, runs in _by_size(real):
        lines.append(
            {
                **place,
                "rounds": str(len(runs)),
                "steps/s": median_cell(runs[_RATE], 0),
                "gradients or updates/s": median_cell(runs["updates_per_second"], 1),
                "dropped": f"{100 * runs['stale_share'].median():.1f} %",
                "staleness": cell(runs["mean_staleness"].median(), 2),
                "waits": f"{100 * runs['waited_share'].median():.0f} %",
                "beside it": ", ".join(dict.fromkeys(runs["beside"])),
                "commit": commits_cell(runs["commit"]),
            }
        )
    return markdown(lines) if lines else NOT_YET


def memory_table(real: pd.DataFrame) -> str:
    """What the plan says beside the most that a run took, a line for each size."""
    lines = []
    for place, runs in _by_size(real):
        planned, peak = runs["planned_bytes"].median() / _MEBIBYTE, runs["peak_bytes"] / _MEBIBYTE
        lines.append(
            {
                **place,
                "planned, MiB": cell(planned, 0),
                "peak, MiB": median_cell(peak, 0),
                "peak of the plan": cell(peak.median() / planned, 2),
            }
        )
    return markdown(lines) if lines else NOT_YET


def _by_size(real: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Cells that say what was run where, and its rounds."""
    headings = ("processor", "grows", "cluster", "shards stand", "roles", "shards")
    columns = ("study", "cluster", "shards", "num_roles", "num_shards")
    for values, runs in real.groupby([kinds_of(real), *columns], sort=False):
        yield dict(zip(headings, map(str, values), strict=True)), runs


def senders_table(rows: pd.DataFrame) -> str:
    """Rows and heartbeats, a line for each processor and number of roles."""
    lines = [
        {
            "processor": str(kind),
            "roles": str(count),
            "rounds": str(len(alike)),
            "rows/s": median_cell(alike["rows_per_second"], 1),
            "missing rows": cell(alike["num_missing_rows"].max(), 0),
            "delay, s": median_cell(alike["delay_seconds"], 2),
            "longest, s": cell(alike["worst_delay_seconds"].max(), 1),
            "between looks, s": median_cell(alike["look_seconds"], 2),
            "of the slowest, s": cell(alike["worst_look_seconds"].max(), 1),
            "lapsed": cell(alike["num_lapsed"].max(), 0),
            "cores, coordinator": median_cell(alike["coordinator_share"], 2),
            "cores, hosts": median_cell(alike["hosts_share"], 2),
            "coordinator, MiB": median_cell(alike["coordinator_bytes"] / _MEBIBYTE, 0),
            "end, s": median_cell(alike["end_seconds"], 1),
            "beside it": ", ".join(dict.fromkeys(alike["beside"])),
            "commit": commits_cell(alike["commit"]),
        }
        for (kind, count), alike in rows.groupby([kinds_of(rows), "num_roles"])
    ]
    return markdown(lines) if lines else NOT_YET


def _across(rows: pd.DataFrame, by: list[str], columns: str, noun: str) -> str:
    lines = []
    for keys, alike in rows.groupby(by, sort=False):
        rates = alike.set_index(columns)[[_RATE, "mean_staleness"]].sort_index()
        lines.append(
            dict(zip(by, map(str, keys), strict=True))
            | {
                counted(count, noun): f"{cell(rate, 0)} ({cell(staleness, 0)})"
                for count, rate, staleness in rates.itertuples()
            }
        )
    return markdown(lines) if lines else NOT_YET


def _shares(rates: pd.Series) -> pd.Series:
    shares: pd.Series = rates / rates.index / rates.loc[1]
    return shares
