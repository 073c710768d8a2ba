/* Reads the flat vectors through generated structs. The values are those of CASES in spec/vectors/kitchen.py.
 */
#include <stdlib.h>

#include "kitchen.h"

static const char* folder;
static int failures = 0;

static void expect(int condition, const char* text) {
  if (!condition) {
    printf("%s\n", text);
    ++failures;
  }
}
#define EXPECT(condition) expect((condition), #condition)

/* A file of the vectors, in memory that may hold any type. */
static void* load(const char* name, size_t* size) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s.bin", folder, name);
  FILE* file = fopen(path, "rb");
  if (!file) {
    printf("cannot open %s\n", path);
    exit(1);
  }
  void* bytes = aligned_alloc(64, 65536);
  *size = fread(bytes, 1, 65536, file);
  fclose(file);
  return bytes;
}

static void primitives(void) {
  size_t size;
  kitchen_Primitives* it = load("primitives.head", &size);
  EXPECT(size == sizeof(*it));
  EXPECT(kitchen_Primitives_check(it) == NULL);
  EXPECT(it->truth && it->byte == 0xFE && it->letter == 'k' && it->wide_letter == 0x20AC && it->tiny == -7);
  EXPECT(it->shorter == -30000 && it->shorter_unsigned == 60000 && it->number == -2000000000);
  EXPECT(it->longer == INT64_C(-9000000000000000000) &&
         it->longer_unsigned == UINT64_C(18000000000000000000));
  EXPECT(it->ratio == 0.15625F && it->precise == -1e-300 && it->color == kitchen_Color_ULTRAVIOLET);
  EXPECT(it->access == (kitchen_Access_READ | kitchen_Access_OWN));
  EXPECT(it->wide == (kitchen_Wide_LOW | kitchen_Wide_HIGH));
  ((unsigned char*)it)[0] = 2;
  const char* problem = kitchen_Primitives_check(it);
  EXPECT(problem && strcmp(problem, "truth: a boolean is neither 0 nor 1") == 0);
  kitchen_Primitives_init(it);
  EXPECT(!it->truth && it->longer == 0 && it->color == kitchen_Color_GREEN && it->wide == 0);
  free(it);
}

static void containers(void) {
  size_t size;
  kitchen_Containers* it = load("containers.head", &size);
  EXPECT(size == sizeof(*it));
  EXPECT(kitchen_Containers_check(it) == NULL);
  EXPECT(it->text.len == 5 && strcmp(it->text.data, "k\303\266ln") == 0 && it->wide_text.data[1] == 0x20AC);
  EXPECT(it->shorts.len == 3 && it->shorts.data[2] == 65535 && it->colors.data[2] == 77);
  EXPECT(it->words.len == 3 && strcmp(it->words.data[2].data, "abc") == 0);
  EXPECT(it->matrices.len == 1 && it->matrices.data[0][1][2] == 6 && it->matrix[1][0] == 3.5);
  EXPECT(it->nested.len == 2 && it->nested.data[0].len == 3 && it->nested.data[0].data[2] == 3);
  EXPECT(it->numbers.len == 2 && it->numbers.data[0].key == 2 && it->numbers.data[1].value == -5);
  EXPECT(it->by_color.data[0].key == -2 && it->color_array[0] == 6);
  it->words.data[1].len = 6;
  EXPECT(strcmp(kitchen_Containers_check(it), "words: its length exceeds its bound 5") == 0);
  it->words.data[1].len = 3;
  EXPECT(strcmp(kitchen_Containers_check(it), "words: no zero follows the text") == 0);
  kitchen_Containers_init(it);
  EXPECT(kitchen_Containers_check(it) == NULL && it->words.len == 0 && it->matrix[1][0] == 0);
  EXPECT(it->color_array[1] == kitchen_Color_BLUE);
  EXPECT(SITU_SET_TEXT(it->text, "0123456789") && it->text.len == 10);
  EXPECT(!SITU_SET_TEXT(it->text, "0123456789a") && it->text.len == 10);
  free(it);
}

static void optionals_and_unions(void) {
  size_t size;
  kitchen_Optionals* it = load("optionals.head", &size);
  EXPECT(size == sizeof(*it));
  EXPECT(kitchen_Optionals_check(it) == NULL);
  EXPECT(it->number.present && it->number.value == -5 && !it->no_number.present && it->after == 2);
  EXPECT(it->text.present && strcmp(it->text.value.data, "there") == 0 && it->last.value);
  it->last.present = 2;
  EXPECT(strcmp(kitchen_Optionals_check(it), "last: its mark is neither 0 nor 1") == 0);
  free(it);

  kitchen_Unions* unions = load("unions.head", &size);
  EXPECT(size == sizeof(*unions));
  EXPECT(kitchen_Unions_check(unions) == NULL);
  EXPECT(unions->round.discriminator == kitchen_Color_RED && unions->round.value.radius == 2.5);
  EXPECT(unions->named.discriminator == 6 && strcmp(unions->named.value.name.data, "box") == 0);
  EXPECT(unions->on.discriminator && unions->on.value.level == -9 && !unions->off.discriminator);
  EXPECT(unions->letters.discriminator == 'b' && unions->letters.value.shorts.data[1] == 2);
  EXPECT(unions->sizes.discriminator == 200 && unions->sizes.value.little == -100);
  unions->letters.value.shorts.len = 4;
  EXPECT(strcmp(kitchen_Unions_check(unions), "shorts: its length exceeds its bound 3") == 0);
  kitchen_Unions_init(unions);
  EXPECT(kitchen_Unions_check(unions) == NULL);
  free(unions);
}

static void bulk(void) {
  size_t size;
  size_t body_size;
  kitchen_Derived* it = load("derived.head", &size);
  void* body = load("derived.body", &body_size);
  EXPECT(size == sizeof(*it));
  EXPECT(kitchen_Derived_check(it) == NULL);
  EXPECT(it->base.id == 258 && it->base.left.rate == 10 && it->between == 9);
  const situ_sample sample = {.head = it, .head_size = size, .body = body, .body_size = body_size};
  size_t count;
  const float* samples = kitchen_Derived_base_left_samples(&sample, &count);
  EXPECT(count == 2 && samples[0] == 0.5F && samples[1] == 1.5F);
  const uint8_t* raw = kitchen_Derived_raw(&sample, &count);
  EXPECT(count == 70 && raw[69] == 69);
  samples = kitchen_Derived_right_samples(&sample, &count);
  EXPECT(count == 1 && samples[0] == -0.5F);
  kitchen_Derived_none(&sample, &count);
  EXPECT(count == 0);
  it->raw.len = body_size;
  EXPECT(kitchen_Derived_raw(&sample, &count) == NULL && count == 0);
  it->raw.offset = UINT64_MAX;
  EXPECT(kitchen_Derived_raw(&sample, &count) == NULL);
  free(it);
  free(body);

  situ_bulk field;
  uint64_t end = 1;
  EXPECT(situ_bulk_place(&field, 3, 8, 3, &end) && field.offset == 64 && field.len == 3 && end == 88);
  EXPECT(!situ_bulk_place(&field, 4, 8, 3, &end) && end == 88);
  EXPECT(!situ_bulk_place(&field, UINT64_MAX / 4, 8, UINT64_MAX, &end));
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  folder = arguments[1];
  primitives();
  containers();
  optionals_and_unions();
  bulk();
  const situ_type* type = kitchen_Derived_type();
  EXPECT(strcmp(type->name, "kitchen::Derived") == 0 && type->encoding == SITU_FLAT);
  EXPECT(strstr(type->schema, "@bulk(TRUE) sequence<uint8> raw;") != NULL);
  return failures != 0;
}
