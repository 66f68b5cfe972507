/* A library's `which_provider`, as many of the name as there are libraries. */
int which_provider(void);
int which_provider(void)
{
	return NUMBER;
}
