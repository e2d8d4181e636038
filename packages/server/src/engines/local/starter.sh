# Reads attempt folders from standard input, one a line, and forks a supervisor for each. Started once: forking this
# small shell is several times cheaper than having Node fork itself. It is only a way to start: no supervisor depends
# on it, and when it dies another takes its place.
#
# A line goes back on standard output at every change of an attempt, as a wake-up: "<word> <folder>".
# Arguments: boot id, seconds to wait before claiming (tests only).
#
# The folder format (supervisor, claim, plan, env, step.*, log, exit) is described in docs/engines.md.

boot=$1
claim_delay=$2
umask 077

supervise() {
  # Caught, not ignored: an ignored signal would be inherited by the job. SIGPIPE is the exception (a server that died
  # must not take its supervisors along), so each phase puts it back.
  trap : TERM INT HUP
  trap '' PIPE
  cd "$1" 2>/dev/null || exit 0

  # Who we are, before the claim: whoever sees a claim also sees whose it is. Once for a folder: somebody who comes second
  # must change neither this nor the record of the first one's end.
  read -r stat </proc/self/stat
  pid=${stat%% *}
  set -f
  # Fields from the third on; the second, the name in brackets, may hold spaces.
  set -- "$1" ${stat##*) }
  set -C
  { echo "$pid ${21} $boot" >supervisor; } 2>/dev/null || exit 0
  set +C
  # Room for the end, which must be told on a full disk too: it is written over these blanks.
  echo "                                " >exit || exit 0
  [ -z "$claim_delay" ] || sleep "$claim_delay"

  # The claim decides who owns the attempt. A server that found none has made it itself: then nothing runs here.
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
  # In place, which needs no room. Where the disk refuses even that, we stay until it does not, so the job is not lost. A
  # folder that was removed wants no record.
  until echo "$code $phase end" 1<>exit; do
    [ -e claim ] || exit 0
    sleep 1
  done
  echo "end $1"
}

while IFS= read -r folder; do
  supervise "$folder" </dev/null 2>/dev/null &
  # Forgets supervisors that have ended, so that neither zombies nor table entries pile up.
  jobs >/dev/null 2>&1
done
