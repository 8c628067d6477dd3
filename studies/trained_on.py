"""Which kind of processor a run of a study is trained on: a note beside its folder, from before its first start on.

`run.json` names its hosts of the last start alone, and in runs of before not which instructions torch made use of
there. So a run that is gone on with, or has its row made, by a later command or on another machine has one only where
the note says that it is of the kind that is here: the row says where it was trained, and the process that makes the row
is asked.
Not here: how a kind is named (`measuring.processor`).
"""

from pathlib import Path

from measuring.processor import named_here
from measuring.provenance import provenance
from pipeline.run_facts import facts_in
from pipeline.whole_file import whole_text


def note(folder: Path, instructions: str, *, begins: bool = False) -> None:
    """Say of the run in `folder`, before it trains, that it does so here; `instructions` as `processor_here` has them.

    Ends the program if it was begun elsewhere, or nobody has noted where. `begins`: whatever is there is overwritten.
    """
    here, path = named_here(instructions), _note_of(folder)
    if begins or not facts_in(folder):
        path.parent.mkdir(parents=True, exist_ok=True)
        whole_text(path, f"{here}\n")
    elif not path.exists():
        raise SystemExit(
            f"{folder} was begun before there was a note of its processor in {path}: it has no row. Move it away to "
            "train it here"
        )
    elif (noted := path.read_text(encoding="utf-8").strip()) != here:
        raise SystemExit(
            f"{folder} was trained on {noted}, and this is {here}: it has no row here. Go on with it on such a "
            "processor, or move it away to train it here"
        )


def check_hosts(folder: Path, instructions: str) -> None:
    """End the program if the hosts that the run names are of another model, or computed with another precision."""
    cpu, precision = str(provenance()["cpu"]), instructions.rpartition(", ")[2]
    others = {
        f"{host.get('processor')} in {host.get('precision')}"
        for host in facts_in(folder).get("hosts", ())
        if host.get("processor") != cpu or (host.get("device") == "cpu" and host.get("precision") != precision)
    }
    if others:
        raise SystemExit(
            f"{folder} was trained on hosts with {' and '.join(sorted(others))}, and this is {cpu} in {precision}: it "
            "has no row"
        )


def _note_of(folder: Path) -> Path:
    # In the folder it would be in the way of the run, which begins in none that has something in it.
    return folder.with_name(f"{folder.name}.processor.txt")
