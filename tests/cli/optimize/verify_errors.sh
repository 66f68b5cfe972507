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
# what --allow precision needs
refused run.tacho --allow precision
refused run.tacho --precision-run fp32.tacho
refused run.tacho --casts casts.json
refused --verify --allow precision --precision-run fp32.tacho -- true
