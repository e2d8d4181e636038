# Fills a virtualenv. Arguments: folder, interpreter, requirements file, uv or empty. Runs inside, in the job's working
# directory: building a package runs strangers' code.
venv=$1 python=$2 requirements=$3 uv=$4
# What builds packages leaves things at home; the job's own folder is no place for them.
if [ "$HOME" = "$PWD" ]; then
  HOME=$(mktemp -d) || exit
  trap 'rm -rf "$HOME"' EXIT
fi
echo "Building virtualenv with $("$python" -V 2>&1)"
if [ -n "$uv" ]; then
  "$uv" venv --quiet --allow-existing --python "$python" "$venv" &&
    "$uv" pip install --python "$venv/bin/python" --requirement "$requirements"
else
  "$python" -m venv "$venv" &&
    "$venv/bin/python" -m pip install --requirement "$requirements"
fi
