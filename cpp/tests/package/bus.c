/* Joins the bus and leaves it again. */
#include <situ.h>
#include <situ/execute.h>
#include <situ/service.h>
#include <stdio.h>

int main(void) {
  situ_node* node;
  situ_error error;
  if (situ_node_create("consumer", NULL, &node, &error) != SITU_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  situ_executor* executor;
  if (situ_executor_create(node, &executor, &error) != SITU_OK) return 1;
  situ_executor_destroy(executor);
  situ_node_destroy(node);
  return situ_version() == SITU_VERSION ? 0 : 1;
}
