# Fills a virtualenv. Arguments: folder, interpreter, requirements file, uv or empty, cache or empty, compile or empty.
# Runs inside, with nothing of the job's variables, in a folder without its code: building a package runs strangers' code,
# and the result is for others too. With a cache nothing is built: where a package would have to be, it fails at once.
venv=$1 python=$2 requirements=$3 uv=$4 cache=$5 compile=$6
if [ -z "$uv" ]; then
  "$python" -I -m venv "$venv" &&
    exec "$venv/bin/python" -I -X utf8 -m pip install --requirement "$requirements"
  exit 1
fi
# Settings are the operator's: none of a folder that others can write to.
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
