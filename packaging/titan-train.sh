#!/bin/sh
# Starts titan-train with the LibTorch of this machine: that of TITAN_TORCH_DIR, else the torch that python3 imports.
# The program itself takes this one's place (exec), so signals, exit codes and ranks know nothing of it.
set -u
want=2.11
here=$(dirname "$(readlink -f "$0")")
program=${here%/*}/libexec/titan-train

refuse() { # what, found, hint
  printf 'error: %s\n  expected: LibTorch %s: TITAN_TORCH_DIR, or a torch that python3 imports\n  found: %s\n  hint: %s\n' "$1" "$want" "$2" "$3" >&2
  exit 2
}
version_of() { # folder of the torch package, or of an unpacked LibTorch
  if [ -f "$1/version.py" ]; then
    sed -n "s/^__version__ = '\(.*\)'.*/\1/p" "$1/version.py"
  elif [ -f "$1/build-version" ]; then
    head -n 1 "$1/build-version"
  fi
}

install="python3 -m pip install torch==$want.0, or set TITAN_TORCH_DIR to the folder of a torch $want package (it holds lib/libtorch_cpu.so)"
if [ -n "${TITAN_TORCH_DIR:-}" ]; then
  torch=$TITAN_TORCH_DIR
  from="TITAN_TORCH_DIR=$torch"
else
  # The folder that the command is given in is no place for libraries.
  torch=$(python3 -c 'import importlib.util as u, sys
sys.path = [p for p in sys.path if p]
s = u.find_spec("torch")
print(s.submodule_search_locations[0] if s and s.submodule_search_locations else "")' 2>/dev/null)
  from="python3's torch at $torch"
  [ -n "$torch" ] || refuse "titan-train finds no LibTorch" "TITAN_TORCH_DIR is not set, and python3 has no torch" "$install"
fi
[ -f "$torch/lib/libtorch_cpu.so" ] || refuse "titan-train finds no LibTorch" "$from has no lib/libtorch_cpu.so" "$install"
version=$(version_of "$torch")
case $version in
  "$want".*) ;;
  *) refuse "this LibTorch is another version" "${version:-no version} ($from)" "$install" ;;
esac

torch=$(readlink -f "$torch")
LD_LIBRARY_PATH=$torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# lib/libtitan_cuda.so, where it was built, needs CUDA's runtime and NCCL: they lie next to the torch of a CUDA wheel.
for folder in "${torch%/*}/nvidia/cu13/lib" "${torch%/*}/nvidia/nccl/lib"; do
  [ ! -d "$folder" ] || LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$folder
done
TITAN_TRAIN_COMMAND=$0 # what lines to paste begin with
export LD_LIBRARY_PATH TITAN_TRAIN_COMMAND
exec "$program" "$@"
