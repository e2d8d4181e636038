# Reads attempt folders from standard input, one per line, and forks a supervisor for each. The server starts it once,
# because forking this small shell is several times cheaper than forking Node. Supervisors do not depend on it: if it dies,
# the server starts another one.
#
# At every change of an attempt it prints "<phase or end> <folder>", which wakes the server.
# Arguments: boot id, seconds to wait before claiming (tests only).
#
# The folder format (supervisor, claim, plan, env, step.*, log, exit) is described in docs/engines.md.

boot=$1
claim_delay=$2
umask 077

supervise() {
  # Catch these signals instead of ignoring them, because the job would inherit an ignored signal. SIGPIPE must be ignored,
  # so that a supervisor survives the death of its server; each phase restores it.
  trap : TERM INT HUP
  trap '' PIPE
  cd "$1" 2>/dev/null || exit 0

  # Write the identity before the claim, so that a claim always shows its owner. `set -C` lets only the first supervisor of a
  # folder do so: a second one must change neither this file nor the exit record of the first.
  read -r stat </proc/self/stat
  pid=${stat%% *}
  set -f
  # Split the fields of /proc/self/stat from the third on. The second, the program name in parentheses, may contain spaces.
  set -- "$1" ${stat##*) }
  set -C
  { echo "$pid ${21} $boot" >supervisor; } 2>/dev/null || exit 0
  set +C
  # Reserve space for the exit record: it overwrites these blanks, which works on a full disk too.
  echo "                                " >exit || exit 0
  [ -z "$claim_delay" ] || sleep "$claim_delay"

  # The claim decides who owns the attempt. If a server has claimed it first, the attempt was withdrawn and must not run.
  set -C
  { true >claim; } 2>/dev/null || exit 0
  set +C
  set +f

  . ./plan
  code=0
  phase=start
  for phase in $phases; do
    if [ -e cancel ]; then
      code=143
      break
    fi
    true >"step.$phase"
    echo "$phase $1"
    (
      trap - TERM INT HUP PIPE
      umask 022
      "$phase"
    ) >>log 2>&1
    code=$?
    [ "$code" -eq 0 ] || break
  done
  # Overwrite the exit record in place, which needs no disk space. If even that fails, try until it works, so that the job
  # is not lost. If the folder was removed, no record is needed.
  until echo "$code $phase end" 1<>exit; do
    [ -e claim ] || exit 0
    sleep 1
  done
  echo "end $1"
}

while IFS= read -r folder; do
  supervise "$folder" </dev/null 2>/dev/null &
  # `jobs` makes the shell reap supervisors that have exited, so that zombies do not pile up.
  jobs >/dev/null 2>&1
done
