# What --verify is told wrongly.
refused()
{
	"$TACHO" optimize "$@"
	echo "exit $?"
}
refused --verify
refused --verify --
refused --verify run.tacho -- true
refused --verify --also run.tacho -- true
refused --verify --pairs 1 -- true
refused --verify -n -3 -- true
refused --verify --run-limit soon -- true
refused -- true
