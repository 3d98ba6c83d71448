"""What each launcher really set on one host, as far as it is about the job: captured under that launcher itself."""


def open_mpi(rank, world, namespace):
    return {
        "OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": world, "OMPI_COMM_WORLD_LOCAL_RANK": rank,
        "OMPI_COMM_WORLD_LOCAL_SIZE": world, "OMPI_COMM_WORLD_NODE_RANK": rank, "OMPI_COMMAND": "train",
        "PMIX_RANK": rank, "PMIX_NAMESPACE": namespace, "PMIX_HOSTNAME": "vm",
    }  # fmt: skip


def mpich(rank, world):
    return {"PMI_RANK": rank, "PMI_SIZE": world, "PMI_FD": 6, "MPI_LOCALRANKID": rank, "MPI_LOCALNRANKS": world}


def torchrun(rank, world, port):
    return {
        "RANK": rank, "WORLD_SIZE": world, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": world, "GROUP_RANK": 0,
        "GROUP_WORLD_SIZE": 1, "ROLE_NAME": "default", "ROLE_RANK": rank, "ROLE_WORLD_SIZE": world,
        "MASTER_ADDR": "localhost", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "7edc7620-5a27-4178-bd88-3fa4e100c732",
        "TORCHELASTIC_RESTART_COUNT": 0, "TORCHELASTIC_MAX_RESTARTS": 0, "TORCHELASTIC_USE_AGENT_STORE": "True",
    }  # fmt: skip


def slurm(rank, world, step=0):
    return {
        "SLURM_PROCID": rank, "SLURM_LOCALID": rank, "SLURM_NODEID": 0, "SLURM_NTASKS": world, "SLURM_NPROCS": world,
        "SLURM_JOB_ID": 17, "SLURM_JOBID": 17, "SLURM_JOB_NODELIST": "node1", "SLURM_JOB_NUM_NODES": 1, "SLURM_NNODES": 1,
        "SLURM_NODELIST": "node1", "SLURM_STEP_ID": step, "SLURM_STEPID": step, "SLURM_STEP_NODELIST": "node1",
        "SLURM_STEP_NUM_NODES": 1, "SLURM_STEP_NUM_TASKS": world, "SLURM_STEP_TASKS_PER_NODE": world,
    }  # fmt: skip


def slurm_pmi2(rank, world):
    """srun --mpi=pmi2: MPICH's words, but Slurm's job."""
    return slurm(rank, world, 1) | {"PMI_RANK": rank, "PMI_SIZE": world, "PMI_FD": 11, "PMI_JOBID": "17.1"}


def inside_slurm(variables):
    """mpirun or mpiexec in an allocation: what starts their ranks is itself the only task of a step."""
    return slurm(0, 1, 2) | variables


def dtensor(rank, jobs):
    return {"DTENSOR_CLIENT_ID": rank, "DTENSOR_JOBS": ",".join(jobs), "DTENSOR_NUM_CLIENTS": len(jobs)}


def environments(world, free_port):
    """(launcher, the variables of each rank); free_port() gives a port at which, and at the next, nobody listens."""
    port = free_port()
    jobs = [f"localhost:{free_port()}" for _ in range(world)]
    for name, of in (
        ("torchrun 2.15.0", lambda rank: torchrun(rank, world, port)),
        ("DTensor", lambda rank: dtensor(rank, jobs)),
        ("Open MPI 4.1.4", lambda rank: open_mpi(rank, world, 1495793665)),
        ("Open MPI 5.0.11", lambda rank: open_mpi(rank, world, "prterun-vm-19832@1")),
        ("MPICH 4.0.2", lambda rank: mpich(rank, world) | {"MPIR_CVAR_CH3_INTERFACE_HOSTNAME": "vm"}),
        ("MPICH 5.0.2", lambda rank: mpich(rank, world) | {"PMI_HOSTNAME": "vm"}),
        ("Slurm 22.05.8", lambda rank: slurm(rank, world)),
        ("Slurm 22.05.8 with PMI2", lambda rank: slurm_pmi2(rank, world)),
        ("Open MPI inside Slurm", lambda rank: inside_slurm(open_mpi(rank, world, 1495793665))),
        ("MPICH inside Slurm", lambda rank: inside_slurm(mpich(rank, world))),
    ):
        yield name, [of(rank) for rank in range(world)]
