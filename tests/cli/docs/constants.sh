# Every number that a prediction may depend on says where it comes from, the page of them is current, and the check of that
# sees one that does not.
cd "$TACHO_SOURCE_DIR" && tools/list-constants.sh | sed 's/[0-9][0-9]*/N/'
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/tools" "$copy/docs" "$copy/validate" "$copy/src/graph" "$copy/src/cost"
cp tools/list-constants.sh "$copy/tools/"
cat >"$copy/src/graph/a.c" <<'C'
#define NO_NUMBER "12"
#define FROM_NOWHERE 12 /* of something */
/* Two that belong together.
 * Source: a rule: they do. If wrong, nothing happens. */
#define FIRST 3 /* the one */
#define OTHER (4 * 5)

#define ALONE 7
/* Source: derived */
#define OF_NOTHING 8
#define KNOWN 1.5 /* what it is. Source: cited from a
		   * book, page 5. */
/* Source: fitted by validate/absent.py on some runs. */
static const double fitted = 2.5;
/* Source: a rule: why not? */
static const unsigned careless = 9;

static int calls(int n, int *ret)
{
	*ret = 100 * n / 1024 + (1 << 20) + n * 1000; /* 77 */
	return n > 25 ? '3' : 0x20 + "4"[n];
}
C
cat >"$copy/src/cost/rows.def" <<'C'
/* rows: of a table that says nothing of itself */
ROW("a", 3)
ROW("b", 4)
C
"$copy/tools/list-constants.sh"
echo "exit $?"
"$copy/tools/list-constants.sh" --list
sed -i '/FROM_NOWHERE\|ALONE\|OF_NOTHING\|absent\|fitted\|careless\|25/d; s/\(why not?\)/\1 If wrong, nothing./' "$copy/src/graph/a.c"
sed -i 's/ of itself/. Source: derived from the alphabet./' "$copy/src/cost/rows.def"
"$copy/tools/list-constants.sh"
printf 'graph/a.c\tFIRST\t3\tnone\t2 of 7\n' >"$copy/validate/constants.tsv"
"$copy/tools/list-constants.sh" --write
"$copy/tools/list-constants.sh"
sed -n '/^## /,$p' "$copy/docs/constants.md"
