# Builds Kubernetes from the sources in the Go module proxy: build.sh FOLDER VERSION. Takes about 800 s of processor time,
# once. The module of Kubernetes names its parts by folders of its repository; here they are modules of their own.
set -e
place=$1 version=$2
[ -x "$place/kubernetes" ] && exit 0
command -v go >/dev/null || { echo "there is no Go to build it with" >&2; exit 1; }
echo "Building Kubernetes $version (once, a quarter of an hour)" >&3
rm -rf "$place.part"
mkdir -p "$place.part" "$place"
cp "$(dirname "$0")/main.go" "$place.part/main.go"
cd "$place.part"
printf 'module node\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v%s\n' "$version" >go.mod
source=$(GOFLAGS=-mod=mod go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
{
  printf 'module node\n\ngo 1.26.0\n\ngodebug default=go1.26\n\nrequire k8s.io/kubernetes v%s\n\n' "$version"
  sed -n "s#^\t\(k8s.io/[a-z-]*\) => ./staging/.*#replace \1 => \1 v0.${version#*.}#p" "$source/go.mod"
} >go.mod
cat "$source/go.sum" >go.sum
nice -n 10 go build -mod=mod -p 2 -ldflags='-s -w' -o kubernetes .
mv kubernetes "$place/kubernetes"
rm -rf "$place.part"
