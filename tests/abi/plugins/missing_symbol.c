/* A shared library that is no plugin. */
int acme_answer(void);
__attribute__((visibility("default"))) int acme_answer(void) { return 42; }
