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
  set -- --only-binary :all: --requirement "$requirements"
  "$uv" pip compile --quiet --python "$venv/bin/python" --only-binary :all: "$requirements" >/dev/null 2>&1 || exit
else
  set -- ${compile:+--compile-bytecode} --requirement "$requirements"
fi
exec "$uv" pip install --python "$venv/bin/python" "$@"
