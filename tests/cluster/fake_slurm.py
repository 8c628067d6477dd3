"""A stand-in for Slurm that runs jobs here: `sbatch`, `scancel` and `squeue` as shell scripts in one folder."""

from pathlib import Path

import psutil

SBATCH = """#!/bin/sh
# Like Slurm, keeps a copy of the script, its last word, and runs it apart from the caller.
for script; do :; done
copy=$(mktemp "$(dirname "$0")/job-XXXXXX") && cp "$script" "$copy"
setsid bash "$copy" >/dev/null 2>&1 </dev/null &
# What has an id can be cancelled by it.
while kill -0 "$!" 2>/dev/null && ! kill -0 "-$!" 2>/dev/null; do :; done
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
kill -9 "-$1" 2>/dev/null || true
"""

SQUEUE = """#!/bin/sh
for word; do case $word in --jobs=*) jobs=$(echo "${word#--jobs=}" | tr , ' ');; esac; done
for job in $jobs; do kill -0 "$job" 2>/dev/null && echo "$job RUNNING" || echo "$job FAILED"; done
"""


def put(folder: Path) -> None:
    """Write the three commands into this folder, which also has the jobs."""
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL), ("squeue", SQUEUE)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def jobs(folder: Path) -> list[psutil.Process]:
    """Shells that run a job of the stand-in now."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(word.startswith(f"{folder}/job-") for word in process.info["cmdline"] or [])
    ]
