// Compiles a type into a flat list of operations.
#include "types/plan.hpp"

#include <stdexcept>

#include "types/layout.hpp"

namespace rmw_situ {
namespace {

// Arrays of structs with at most so many elements become numbers of the block around them.
constexpr size_t kMaxUnrolled = 64;
// Operations of one type with all that it contains. Real types have a few hundred.
constexpr size_t kMaxOps = 1 << 20;

size_t align_up(size_t offset, size_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

class Compiler {
 public:
  explicit Compiler(size_t& op_count) : op_count_(op_count) {}

  Plan compile(const Struct& type, const std::string& path) {
    structure(type, 0, path);
    for (const Op& op : plan_.ops) finish(op);
    return std::move(plan_);
  }

 private:
  // The members of a struct that lies at an offset of the one that is compiled.
  void structure(const Struct& type, size_t offset, const std::string& path) {
    for (const Member& member : type.members) {
      std::string name = path.empty() ? member.name : path + "." + member.name;
      size_t at = offset + member.offset;
      if (member.container == Container::kNone && member.kind == Kind::kStruct) {
        structure(*member.type, at, name);
      } else if (member.container != Container::kSequence && width(member.kind) != 0) {
        numbers(member, at, member.container == Container::kArray ? member.length : 1, name);
      } else if (is_unrolled(member)) {
        for (size_t i = 0; i < member.length; i++) {
          structure(*member.type, at + i * member.type->size, name + "[]");
        }
      } else {
        container(type, member, at, name);
      }
    }
  }

  // An array of structs that are plain: its numbers may be part of the block around them.
  static bool is_unrolled(const Member& member) {
    return member.container == Container::kArray && member.kind == Kind::kStruct && member.type->is_plain &&
           member.length <= kMaxUnrolled;
  }

  // Appends numbers to the last block, if they lie behind it in CDR as in memory; otherwise begins a block.
  void numbers(const Member& member, size_t offset, size_t count, const std::string& path) {
    size_t size = width(member.kind);
    bool is_bool = member.kind == Kind::kBool;
    count_op();
    if (is_open_) {
      Block& block = plan_.ops.back().block;
      size_t end = align_up(block.size, size);
      if (size <= block.alignment && offset == plan_.ops.back().offset + end) {
        if (end != block.size) block.gaps.push_back({block.size, end - block.size});
        Numbers& last = block.numbers.back();
        if (last.width == size && last.is_bool == is_bool && end == block.size) {
          last.count += count;
        } else {
          block.numbers.push_back({end, count, size, is_bool});
        }
        block.size = end + count * size;
        block.has_bools |= is_bool;
        return;
      }
    }
    Op& op = add(path);
    op.offset = offset;
    op.block = {size, count * size, 0, {{0, count, size, is_bool}}, {}, is_bool};
    is_open_ = true;
  }

  void container(const Struct& in, const Member& member, size_t offset, const std::string& path) {
    count_op();
    Op& op = add(path);
    is_open_ = false;
    op.container = member.container;
    op.language = in.language;
    op.offset = offset;
    op.length = member.length;
    op.string_bound = member.string_bound;
    op.member = &member;
    switch (member.kind) {
      case Kind::kString:
        op.element = Element::kString;
        op.stride = in.language == Language::kC ? sizeof(SequenceC) : sizeof(std::string);
        op.alignment = alignof(void*);
        op.least_size = sizeof(uint32_t);
        break;
      case Kind::kWString:
        op.element = Element::kWString;
        op.stride = in.language == Language::kC ? sizeof(SequenceC) : sizeof(std::u16string);
        op.alignment = alignof(void*);
        op.least_size = sizeof(uint32_t);
        break;
      case Kind::kStruct:
        structs(op, *member.type, path);
        break;
      default: {
        size_t size = width(member.kind);
        bool is_bool = member.kind == Kind::kBool;
        op.element = is_bool && in.language == Language::kCpp ? Element::kBits : Element::kBlock;
        op.stride = op.alignment = op.least_size = size;
        op.block = {size, size, size, {{0, 1, size, is_bool}}, {}, is_bool};
      }
    }
    if (op.container == Container::kSequence) op.is_direct = sequence_layout_holds(member, op.stride);
  }

  // Structs that are one block, and whose padding at the end is in CDR, too, are elements like numbers.
  void structs(Op& op, const Struct& type, const std::string& path) {
    op.stride = type.size;
    op.alignment = type.alignment;
    auto nested = std::make_unique<Plan>(Compiler(op_count_).compile(type, path + "[]"));
    op.least_size = nested->least_size;
    if (nested->ops.size() == 1) {
      Op& only = nested->ops.front();
      Block& block = only.block;
      bool is_block = only.element == Element::kBlock && only.container == Container::kNone;
      if (is_block && only.offset == 0 && block.alignment == type.alignment &&
          align_up(block.size, block.alignment) == type.size) {
        op.element = Element::kBlock;
        op.block = std::move(block);
        op.block.stride = type.size;
        return;
      }
    }
    op.element = Element::kStruct;
    op.nested = std::move(nested);
  }

  void count_op() {
    if (++op_count_ > kMaxOps) throw std::runtime_error("the type has more than 2^20 members");
  }

  Op& add(const std::string& path) {
    Op& op = plan_.ops.emplace_back();
    op.path = path;
    return op;
  }

  void finish(const Op& op) {
    bool is_sequence = op.container == Container::kSequence;
    if (op.element == Element::kBlock && op.container == Container::kNone) {
      plan_.least_size += op.block.size;
    } else if (is_sequence) {
      plan_.least_size += sizeof(uint32_t);
    } else {
      plan_.least_size += op.least_size * (op.container == Container::kArray ? op.length : 1);
    }
    plan_.is_direct &= op.is_direct;
    plan_.has_bools |= op.block.has_bools;
    plan_.has_pointers |= (is_sequence && op.element != Element::kBits) || op.element == Element::kString;
    if (op.nested) {
      plan_.is_direct &= op.nested->is_direct;
      plan_.has_pointers |= op.nested->has_pointers;
      plan_.has_bools |= op.nested->has_bools;
    }
    if (op.language == Language::kCpp && op.element != Element::kBlock) plan_.is_direct &= cpp_layouts_hold();
  }

  size_t& op_count_;
  Plan plan_;
  // Whether the last operation is a block to which numbers can be appended.
  bool is_open_ = false;
};

}  // namespace

Plan compile(const Struct& type) {
  size_t op_count = 0;
  return Compiler(op_count).compile(type, "");
}

}  // namespace rmw_situ
