# Installs packages into a virtualenv. Arguments: folder, interpreter, requirements file, path of uv (or empty), package
# cache (or empty), `compile` (or empty). It runs inside the isolation, without the job's variables and code: building a
# package runs foreign code, and other jobs may share the result. With a cache, only wheels are installed, and the script
# fails if a package must be built from source.
venv=$1 python=$2 requirements=$3 uv=$4 cache=$5 compile=$6
if [ -z "$uv" ]; then
  "$python" -I -m venv "$venv" &&
    exec "$venv/bin/python" -I -X utf8 -m pip install --requirement "$requirements"
  exit 1
fi
# Only the operator's settings apply, never a configuration file in a folder that others can write to.
if [ -z "$UV_CONFIG_FILE" ]; then
  if [ -e /etc/uv/uv.toml ]; then export UV_CONFIG_FILE=/etc/uv/uv.toml; else export UV_NO_CONFIG=1; fi
fi
eval "$("$python" -I "${0%/*}/pip-settings.py" "$requirements")"
"$uv" venv --quiet --allow-existing --python "$python" "$venv" || exit
if [ -n "$cache" ]; then
  export UV_CACHE_DIR=$cache
  # If a package has no wheel, another build without a cache follows: it reports why it fails, if it does.
  exec 4>&1
  code=$({
    { "$uv" pip install --python "$venv/bin/python" --only-binary :all: --requirement "$requirements" 2>&1; echo $? >&3; } |
      sed -u '/^error:/,$d; /^  ×/,$d' >&4
  } 3>&1)
  exit "$code"
fi
exec "$uv" pip install --python "$venv/bin/python" ${compile:+--compile-bytecode} --requirement "$requirements"
