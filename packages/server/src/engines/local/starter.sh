# Reads attempt folders from standard input, one per line, and forks a supervisor for each. The server starts it once,
# because forking this small shell is several times cheaper than forking Node. Supervisors do not depend on it: if it dies,
# the server starts another one.
#
# At every change of an attempt it prints "<phase or end> <folder>", which wakes the server.
#
# A line "waiting <folder>" starts an interpreter in a sandbox before its job is known. Its shell becomes the supervisor of
# the attempt that the server names later.
# Arguments: boot id, seconds to wait before claiming (tests only).
#
# The folder format (supervisor, claim, plan, env, step.*, log, exit) is described in docs/engines.md.

boot=$1
claim_delay=$2
umask 077

# Prints the time, in clock ticks since boot: the start of the process that prints it.
ticks() (
  read -r stat </proc/self/stat
  set -f
  set -- ${stat##*) }
  echo "${20}"
)

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
  # If this shell has waited for the attempt, the attempt is younger than the shell.
  began=
  [ -z "$interpreter" ] || began=" $(ticks)"
  set -C
  { echo "$pid ${21} $boot$began" >supervisor; } 2>/dev/null || exit 0
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
  handed=
  phase=start
  for phase in $phases; do
    if [ -e cancel ]; then
      code=143
      break
    fi
    true >"step.$phase"
    echo "$phase $1"
    # An interpreter that has waited takes the last two phases. It can still be given up until the script has begun.
    if [ "$phase" = datasets ] && hand_over; then
      handed=yes
    elif [ "$phase" = query ] && [ -n "$handed" ] && begin; then
      echo "warm $1"
    elif [ -e cancel ]; then
      code=143
    else
      case $phase in datasets | query) start_cold "$1" ;; esac
      # No process of the job may write to the pipes of the interpreter.
      run_phase >>log 2>&1 7>&- 8>&- 9>&-
      code=$?
    fi
    [ "$code" -eq 0 ] || break
  done
  end_interpreter
  # Overwrite the exit record in place, which needs no disk space. If even that fails, try until it works, so that the job
  # is not lost. If the folder was removed, no record is needed.
  until echo "$code $phase end" 1<>exit; do
    [ -e claim ] || exit 0
    sleep 1
  done
  echo "end $1"
}

run_phase() (
  trap - TERM INT HUP PIPE
  umask 022
  "$phase"
)

# Starts an interpreter and waits until the server names an attempt. If the server dies instead, the pipe `ask` ends.
wait_for_attempt() {
  trap : TERM INT HUP
  trap '' PIPE
  cd "$1" 2>/dev/null || exit 0
  read -r stat </proc/self/stat
  set -f
  set -- "$1" ${stat##*) }
  # If the server has written this file, it has given the interpreter up already.
  set -C
  { echo "${stat%% *} ${21} $boot" >supervisor; } 2>/dev/null || exit 0
  set +C
  set +f
  . ./plan
  interpreter_venv=$MILLRACE_VENV
  mkfifo go answer ask && exec 7<>go 8<>answer || exit 0
  trap end_interpreter EXIT
  (
    trap - TERM INT HUP PIPE EXIT
    umask 022
    # The import gives way to running jobs. Only root can raise the priority again.
    read -r stat </proc/self/stat
    [ -z "$niceness" ] || renice -n "$niceness" -p "${stat%% *}" >/dev/null
    query
  ) 3<go 4>answer >>log 2>&1 7>&- 8>&- &
  interpreter=$!
  # The pipe stays open for writing here until the interpreter has opened it. From then on it ends with the interpreter.
  # Nobody waits for it if the server has died meanwhile, and nothing can be told to the server.
  said= looks=0
  while [ -z "$said" ] && [ "$looks" -lt 15 ]; do
    said=$(hear 20 <&8)
    looks=$((looks + 1))
    [ -n "$said" ] || echo "importing $1" || exit 0
  done
  exec 9<answer 8>&-
  [ "$said" = ready ] || { echo "unfit $1" && exit 0; }
  # Descriptor 6 keeps the pipe open until the server has opened it and says so. From then on it ends with the server.
  exec 6<>ask 5<ask || exit 0
  echo "ready $1" || exit 0
  [ "$(hear 30 6 <&6)" = hello ] || exit 0
  exec 6<&-
  read -r attempt <&5 || exit 0
  exec 5<&-
  supervise "$attempt"
}

# Reads one short word, within seconds ($1) and bytes ($2). Packages run in the interpreter, so neither is left to it.
hear() {
  timeout "$1" dd bs="${2:-16}" count=1 2>/dev/null
}

# Asks the interpreter to become the job and to prepare the team's warehouse. Fails if anything is in doubt: then both phases
# run without it.
hand_over() {
  [ -n "$interpreter" ] || return
  MILLRACE_VENV=
  [ ! -e venv ] || read -r MILLRACE_VENV <venv
  [ "$MILLRACE_VENV" = "$interpreter_venv" ] && cat sandbox.waiting >sandbox || return
  echo go >&7
  [ "$(hear 5 <&9)" = fit ]
}

# Lets the interpreter run the script, and sets `code`. It says `begun` immediately before; if it died earlier, this fails.
begin() {
  [ ! -e cancel ] || return
  echo begin >&7
  # A signal to this shell interrupts `wait`.
  while :; do
    wait "$interpreter"
    code=$?
    kill -0 "$interpreter" 2>/dev/null || break
  done
  interpreter=
  # All processes that had the pipe have ended, so this does not wait.
  read -r said <&9 && [ "$said" = begun ]
}

# Tells the server that the attempt does without its interpreter, once.
start_cold() {
  [ -z "$interpreter$handed" ] || echo "cold $1"
  end_interpreter
  handed=
}

# Its sandbox ends with it.
end_interpreter() {
  [ -n "$interpreter" ] || return
  kill -KILL "$interpreter" 2>/dev/null
  wait "$interpreter" 2>/dev/null
  interpreter=
}

while IFS= read -r folder; do
  interpreter=
  case $folder in
  "waiting "*) wait_for_attempt "${folder#waiting }" </dev/null 2>/dev/null & ;;
  *) supervise "$folder" </dev/null 2>/dev/null & ;;
  esac
  # `jobs` makes the shell reap supervisors that have exited, so that zombies do not pile up.
  jobs >/dev/null 2>&1
done
