/* A plug-in that calls `which_provider`, whichever the loader gives it. */
int which_provider(void);
int call_provider(void);
int call_provider(void)
{
	return which_provider();
}
