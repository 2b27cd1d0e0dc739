set -eu
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
cd "$1"
mkdir "$into"
cd "$into"
# The package by this name is empty and depends on the kernel of the day.
package=$(apt-cache depends --important "$kernel" | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
apt-get download --quiet "${package:-$kernel}"
for file in *.deb; do
	dpkg-deb --extract "$file" .
	rm "$file"
done
