# Makes sure that the virtualenv of a job exists, building it at most once however many jobs need it.
# Arguments: folder of environments, key, interpreter, requirements file, uv or empty, where to link the result,
# then the local files that the requirements name. Runs in the job's working directory.
envs=$1 key=$2 python=$3 requirements=$4 uv=$5 link=$6
shift 6

# The contents of named files are part of what the environment is.
if [ $# -gt 0 ]; then
  key=$({
    echo "$key"
    for file; do [ ! -f "$file" ] || sha256sum "$file"; done
  } | sha256sum | cut -c1-40)
fi
venv=$envs/$key
mkdir -p "$envs/home"
# What builds packages leaves things at home; the job's own folder is no place for them.
[ "$HOME" != "$PWD" ] || HOME=$envs/home

build() {
  rm -rf "$venv"
  if [ -n "$uv" ]; then
    "$uv" venv --quiet --python "$python" "$venv" &&
      "$uv" pip install --python "$venv/bin/python" --requirement "$requirements"
  else
    "$python" -m venv "$venv" &&
      "$venv/bin/python" -m pip install --requirement "$requirements"
  fi
}

use() {
  ln -sfn "$venv" "$link"
  exit 0
}

if [ -e "$venv/.ready" ]; then
  echo "Using cached virtualenv"
  use
fi

# The kernel drops the lock when its last holder ends, however it ends. The installer inherits it on purpose: one that
# outlives this shell is still writing.
exec 9>"$venv.lock"
if ! flock -n 9; then
  echo "Waiting for another job that builds the same virtualenv"
  flock 9
  if [ -e "$venv/.ready" ]; then
    echo "Using cached virtualenv"
    use
  fi
fi
echo "Building virtualenv with $("$python" -V 2>&1)"
if build; then
  sync -f "$venv" 2>/dev/null
  : >"$venv/.ready"
  use
fi
echo "The virtualenv could not be built" >&2
rm -rf "$venv"
exit 1
