# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by ./run and ./test: what the program needs from the system, and how it is built.

# Names that Debian 12 and 13 and Ubuntu 24.04 share. The second list is installed where the
# distribution has it; without it the program is built with less.
packages=(
  gcc libc6-dev meson ninja-build pkg-config python3 gettext
  libglib2.0-dev libjson-glib-dev libtiff-dev libhdf5-dev libdeflate-dev libfftw3-dev
  libgtk-4-dev libadwaita-1-dev libepoxy-dev librsvg2-common gtk-update-icon-cache desktop-file-utils
  appstream libxml2-utils procps
)
optional_packages=(
  ocl-icd-opencl-dev libvkfft-dev pocl-opencl-icd
  libopenmpi-dev openmpi-bin liblzf-dev
)
test_packages=(xvfb xauth libgl1-mesa-dri)
# Debian 13 has no clang-format 14; the test of the layout is skipped there. The clang that PoCL brings,
# and AMD's library, compile the kernels for AMD's cards.
optional_test_packages=(clang-format-14 rsync clang-15 rocm-device-libs)
# Tests start an sshd and a Slurm of their own. Installing these would start the system's, too, where
# systemd runs: there it is left to the computer's owner, and the tests are skipped without them.
[ -d /run/systemd/system ] || optional_test_packages+=(
  openssh-server openssh-client slurmctld slurmd slurm-client munge libpmix2
)

# Linking takes the usual linker five times as long. Meson asks this variable in a new folder.
if [ -z "${CC_LD:-}" ] && command -v ld.gold >/dev/null; then export CC_LD=gold; fi

say () { printf '%s\n' "$*" >&2; }

# Those of the named packages that are not installed.
missing () {
  local name
  for name; do
    [ "$(dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | head -n 1)" = installed ] \
      || printf '%s\n' "$name"
  done
}

as_root () {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Package lists that are absent or older than a day cannot be trusted to name what the mirror has.
refresh_lists () {
  if [ -z "$(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -mtime -1 -print -quit 2>/dev/null)" ]; then
    say "Fetching the package lists"
    as_root apt-get update -qq
  fi
}

# Packages named by the first argument (an array) and the second (optional ones), if not there yet.
install_packages () {
  local -n required=$1 extra=$2
  local name log
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "This is not Debian or Ubuntu: nothing is installed. The program needs what these packages"
    say "bring: ${required[*]} ${extra[*]}"
    return
  fi
  mapfile -t wanted < <(missing "${required[@]}" "${extra[@]}")
  [ ${#wanted[@]} = 0 ] && return
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    if [ -z "$(missing "${required[@]}")" ]; then
      say "Going on without ${wanted[*]}: installing packages takes root"
      return
    fi
    say "Packages are missing, and installing them takes root: run, as root,"
    say "  apt-get install --no-install-recommends ${wanted[*]}"
    exit 1
  fi
  refresh_lists
  mapfile -t wanted < <(
    missing "${required[@]}"
    for name in $(missing "${extra[@]}"); do
      if apt-cache show "$name" >/dev/null 2>&1; then
        printf '%s\n' "$name"
      else
        say "No package $name here: going on without it"
      fi
    done)
  [ ${#wanted[@]} = 0 ] && return
  say "Installing: ${wanted[*]}"
  log=$(mktemp)
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
         "${wanted[@]}" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    say "The packages could not be installed; apt-get says why above"
    exit 1
  fi
  rm -f "$log"
}

# configure FOLDER [OPTION…]: new, or again with these options; a folder that another version of
# meson or another place left behind is made anew.
configure () {
  local folder=$1 log
  shift
  log=$(mktemp)
  if [ -f "$folder/meson-private/coredata.dat" ]; then
    if ! meson setup --reconfigure "$@" "$folder" >"$log" 2>&1; then
      rm -rf "$folder"
      meson setup "$@" "$folder" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; exit 1; }
    fi
  else
    meson setup "$@" "$folder" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; exit 1; }
  fi
  rm -f "$log"
}

# build FOLDER [TARGET…]: quiet unless it fails.
build () {
  local log
  log=$(mktemp)
  if ! ninja -C "$@" >"$log" 2>&1; then
    grep -vE '^\[[0-9]+/[0-9]+\] (Compiling|Linking|Generating)' "$log" >&2
    rm -f "$log"
    say "The build in $1 failed"
    exit 1
  fi
  rm -f "$log"
}
