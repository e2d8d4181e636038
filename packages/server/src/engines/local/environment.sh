# Makes sure that the virtualenv of a job exists, building it at most once however many jobs need it. Sourced by a plan,
# in the attempt's folder, with the rights of the server; what strangers wrote runs inside, by two functions of the plan:
# `digest` prints what tells the local files apart that the requirements name, `build` fills the folder $MILLRACE_VENV.
# Set by the plan: envs (folder of environments), key, named (not empty where the requirements name local files),
# owner (user of the job, or empty), evict (ends every process of that user, where nothing else does).

cancelled() {
  [ -e cancel ] && exit 143
}

# The contents of named files are part of what the environment is.
if [ -n "$named" ]; then
  key=$({
    echo "$key"
    (digest)
  } | sha256sum | cut -c1-40)
fi
MILLRACE_VENV=$envs/$key

# Under the lock, shared or not: whoever removes old environments takes it alone, and looks at the time of the mark.
use() {
  [ -e "$MILLRACE_VENV.ready" ] && [ -d "$MILLRACE_VENV" ] || return
  true >"$MILLRACE_VENV.ready"
  echo "$MILLRACE_VENV" >venv || exit
  [ -z "$1" ] || echo "$1"
  exit 0
}

# Takes the lock, shared (-s) or alone (-x). The kernel drops it when its last holder ends, however it ends.
take() {
  flock "$1" -n 9 && return
  echo "Waiting for another job that builds the same virtualenv"
  until flock "$1" -w 1 9; do cancelled; done
}

# Strangers' files become the server's, and nobody else can change them.
seal() {
  [ -z "$owner" ] && return
  evict || return
  chown -R -h 0:0 "$MILLRACE_VENV" && chmod -R u-s,g-s,go-w,a+rX "$MILLRACE_VENV"
}

exec 9>"$MILLRACE_VENV.lock"
take -s
use "Using cached virtualenv"
take -x
use "Using cached virtualenv"
rm -rf "$MILLRACE_VENV"
mkdir "$MILLRACE_VENV" || exit
[ -z "$owner" ] || chown "$owner:$owner" "$MILLRACE_VENV" || exit
# Strangers do not get the lock: they could let go of it.
if (build) 9>&-; then
  if seal; then
    sync -f "$MILLRACE_VENV" 2>/dev/null
    true >"$MILLRACE_VENV.ready"
    use ""
  fi
fi
echo "The virtualenv could not be built" >&2
rm -rf "$MILLRACE_VENV"
cancelled
exit 1
