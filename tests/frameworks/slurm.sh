#!/usr/bin/env bash
# slurm.sh FOLDER COMMAND...: start Slurm's daemons for this machine alone below FOLDER, run COMMAND, and stop them. What they say is in
# FOLDER/*.log. Needs Debian's slurm-wlm and munge, and root, as slurmd does; exit 77 without.
set -u
folder=$1
shift
for program in munged slurmctld slurmd srun; do
	PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || { echo "slurm.sh: no $program" >&2; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "slurm.sh: slurmd needs root" >&2; exit 77; }
export PATH=$PATH:/usr/sbin
mkdir -p "$folder/state" "$folder/spool"
chmod 755 "$folder"
host=$(hostname -s)
head -c 64 /dev/urandom >"$folder/munge.key"
chmod 400 "$folder/munge.key"
free_port()
{
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
cat >"$folder/slurm.conf" <<END
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
SelectType=select/cons_tres
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
END
export SLURM_CONF=$folder/slurm.conf
# CPUs: nproc would say 1 where OMP_NUM_THREADS does, and a job of two tasks would wait for ever
started=()
stop()
{
	kill "${started[@]:1}" 2>/dev/null
	for ((i = 0; i < 50; i++)); do [ "$(jobs -rp | wc -l)" -le 1 ] && break; sleep 0.1; done
	kill -9 "${started[@]:1}" 2>/dev/null
	kill "${started[0]}" # munged last: the others ask it once more as they end
	wait
}
trap stop EXIT
munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
	--log-file="$folder/munged.log" --seed-file="$folder/munge.seed" >"$folder/munged.said" 2>&1 &
started+=($!)
for ((i = 0; i < 50; i++)); do [ -S "$folder/munge.socket" ] && break; sleep 0.1; done
slurmctld -D >"$folder/slurmctld.said" 2>&1 &
started+=($!)
slurmd -D >"$folder/slurmd.said" 2>&1 &
started+=($!)
for ((i = 0; i < 200; i++)); do
	sinfo -h -o %T 2>/dev/null | grep -qE 'idle|mixed' && break
	sleep 0.1
done
"$@"
code=$?
# a step's own daemon would wait for slurmctld for ever
for ((i = 0; i < 100; i++)); do [ -z "$(squeue -h 2>/dev/null)" ] && ! ls "$folder"/spool/*_*.* >/dev/null 2>&1 && break; sleep 0.1; done
exit $code
