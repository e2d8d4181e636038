# Fills a virtualenv. Arguments: folder, interpreter, requirements file, uv or empty. Runs inside, with nothing of the
# job's variables, in a folder without its code: building a package runs strangers' code, and the result is for others too.
venv=$1 python=$2 requirements=$3 uv=$4
echo "Building virtualenv with $("$python" -I -V 2>&1)"
if [ -n "$uv" ]; then
  # Settings are the operator's: none of a folder that others can write to.
  if [ -z "$UV_CONFIG_FILE" ]; then
    if [ -e /etc/uv/uv.toml ]; then export UV_CONFIG_FILE=/etc/uv/uv.toml; else export UV_NO_CONFIG=1; fi
  fi
  "$uv" venv --quiet --allow-existing --python "$python" "$venv" &&
    "$uv" pip install --python "$venv/bin/python" --requirement "$requirements"
else
  "$python" -I -m venv "$venv" &&
    "$venv/bin/python" -I -X utf8 -m pip install --requirement "$requirements"
fi
