#!/usr/bin/env bash

#SBATCH -J pipeline
#SBATCH -p gpu
#SBATCH -A atari
#SBATCH -n 1
#SBATCH --cpus-per-task=6
#SBATCH --mem=15G
#SBATCH -t 01:30:00
#SBATCH --gres=gpu:2
export MALLOC_TRIM_THRESHOLD_=134217728
export MALLOC_MMAP_THRESHOLD_=33554432
export DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False
module load cuda
/shared/venv/bin/python -m distributed.cli.dask_worker SCHEDULER --name HOST --nthreads 2 --memory-limit 7.45GiB --nworkers 2 --nanny --death-timeout 60 --memory-limit 0 --lifetime 80m --lifetime-stagger 5m --resources GPU=1 --interface ib0
