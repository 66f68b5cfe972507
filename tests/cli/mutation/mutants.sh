# Which mutants there are of a file, and where there are none.
cat >sample.c <<'END'
/* no mutant of a comment: a < b */
#define LIMIT (1 + 2)

static int limits[] = { 1, 2, 3 };

static int compare_items(const struct item *x, const struct item *y)
{
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->ns < y->ns ? -1 : 1;
}

static double share(const double *values, unsigned n)
{
	char text[16] = "1 < 2";
	double sum = 0;
	double *room = g_new0(double, MAX(n, 1u) + 2 * n);

	g_assert(n > 1);
	g_array_new(FALSE, TRUE, 3);
	for (unsigned i = 0; i < n; i++) {
		if (!values[i] || i == 0xff)
			continue;
		sum += 0.5 * values[i] + 1e3;
	}
	g_free(text + 1);
	switch (n) {
	case 1:
		return MIN(sum, n) / 4;
	default:
		break;
	}
	return n ? sum : -sum;
}
END
python3 "$TACHO_SOURCE_DIR/tests/mutation/mutants.py" sample.c
