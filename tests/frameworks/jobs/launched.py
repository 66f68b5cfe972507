"""launched.py JOB [ARGUMENT...]: a rank of another job here, whose launcher is mpirun or srun: they tell ranks by variables of their own."""

import os
import runpy
import sys

NAMES = {"RANK": ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"),
         "WORLD_SIZE": ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"),
         "LOCAL_RANK": ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")}

for name, others in NAMES.items():
    os.environ[name] = next(os.environ[other] for other in others if other in os.environ)
sys.argv = sys.argv[1:]
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), sys.argv[0] + ".py"), run_name="__main__")
