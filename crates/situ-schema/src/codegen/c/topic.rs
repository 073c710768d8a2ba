//! What a program needs on a topic: the type with its schema, and functions that loan, publish and take.

use super::names::{Named, accessors, length};
use super::types::declare;
use crate::codegen::cpp::types::{hash, text_literal};
use crate::codegen::cpp::writer::CodeWriter;
use crate::layout::flat::BulkField;
use crate::model::TypeId;

/// The functions of a struct.
pub fn functions(code: &mut CodeWriter, schema: &Named, id: TypeId) {
    let name = schema.type_name(id);
    let bulk = schema.bulk_fields(id);
    code.gap();
    code.line(format!("/* The type of a topic of {}, for situ_publisher_create and", schema.name(id)));
    code.line(" * situ_subscriber_create. */");
    code.line(format!("static inline const situ_type* {name}_type(void) {{"));
    code.indent();
    code.line("static const situ_type type = {");
    code.indent();
    code.line(format!("{},", text_literal(schema.name(id).as_str())));
    schema_text(code, &schema.canonical(id));
    code.line(format!("{},", hash(schema.schema_hash(id))));
    code.line(format!("{},", hash(schema.layout_hash(id))));
    code.line("SITU_FLAT,");
    code.line(if bulk.is_empty() { format!("sizeof({name}),") } else { "0,".to_owned() });
    // Without user headers.
    code.line("0,");
    code.dedent();
    code.line("};");
    code.line("return &type;");
    code.dedent();
    code.line("}");
    if bulk.is_empty() {
        loan(code, name);
    } else {
        loan_with_bulk(code, name, &bulk);
    }
    take(code, name, &bulk);
    for (field, accessor) in bulk.iter().zip(accessors(&bulk)) {
        access(code, schema, id, field, &accessor);
    }
}

/// A literal of a line of the schema's text each. C compilers must accept 4095 bytes only; `__extension__`
/// says that the text may be longer.
fn schema_text(code: &mut CodeWriter, text: &str) {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (at, line) in lines.iter().enumerate() {
        let start = if at == 0 { "__extension__ " } else { "" };
        let end = if at + 1 == lines.len() { "," } else { "" };
        code.line(format!("{start}{}{end}", text_literal(line)));
    }
}

fn loan(code: &mut CodeWriter, name: &str) {
    code.gap();
    code.line("/* Lends a message with default values in shared memory. Write to it, then call situ_loan_publish, or");
    code.line(
        " * situ_loan_discard. After an error `message` is NULL. Errors: those of situ_publisher_loan. */",
    );
    code.line(format!(
        "static inline situ_status {name}_loan(situ_publisher* publisher, situ_loan* loan, {name}** message,"
    ));
    code.line("    situ_error* error) {");
    code.indent();
    code.line("*message = NULL;");
    lend(code, name, "0");
    code.line(format!("*message = ({name}*)loan->head;"));
    code.line(format!("{name}_init(*message);"));
    code.line("return SITU_OK;");
    code.dedent();
    code.line("}");
    code.gap();
    code.line(
        "/* Copies a message into shared memory and publishes it. `number` may be NULL. Errors: those of",
    );
    code.line(" * situ_publisher_loan and of situ_loan_publish. */");
    code.line(format!("static inline situ_status {name}_publish(situ_publisher* publisher, const {name}* value, uint64_t* number,"));
    code.line("    situ_error* error) {");
    code.indent();
    code.line("situ_loan loan;");
    code.line(format!("situ_status status = situ_publisher_loan(publisher, sizeof({name}), SITU_ALIGNOF({name}), 0, &loan, error);"));
    code.line("if (status != SITU_OK) return status;");
    code.line("memcpy(loan.head, value, sizeof(*value));");
    code.line("status = situ_loan_publish(&loan, number, error);");
    code.line("if (status != SITU_OK) situ_loan_discard(&loan);");
    code.line("return status;");
    code.dedent();
    code.line("}");
}

fn lend(code: &mut CodeWriter, name: &str, body: &str) {
    code.line("situ_status status =");
    code.line(format!(
        "    situ_publisher_loan(publisher, sizeof({name}), SITU_ALIGNOF({name}), {body}, loan, error);"
    ));
    code.line("if (status != SITU_OK) return status;");
}

fn loan_with_bulk(code: &mut CodeWriter, name: &str, bulk: &[BulkField]) {
    code.gap();
    code.line("/* How many elements each bulk field holds. */");
    code.line(format!("typedef struct {name}_bulk_lengths {{"));
    code.indent();
    let lengths: Vec<String> = accessors(bulk).iter().map(|it| length(it)).collect();
    for length in &lengths {
        code.line(format!("uint64_t {length};"));
    }
    code.dedent();
    code.line(format!("}} {name}_bulk_lengths;"));
    code.gap();
    code.line("/* Lends a message with default values in shared memory, with bulk fields of these lengths. Their elements are");
    code.line(" * arbitrary old values. Write to it, then call situ_loan_publish, or situ_loan_discard. Errors: those of");
    code.line(" * situ_publisher_loan. */");
    code.line(format!(
        "static inline situ_status {name}_loan(situ_publisher* publisher, const {name}_bulk_lengths* lengths,"
    ));
    code.line(format!("    situ_loan* loan, {name}** message, situ_error* error) {{"));
    code.indent();
    code.line("*message = NULL;");
    code.line(format!("situ_bulk bulk[{}];", bulk.len()));
    code.line("uint64_t end = 0;");
    for (at, field) in bulk.iter().enumerate() {
        let path = field.path.join(".");
        let bound = field.bound.map_or("UINT64_MAX".to_owned(), |it| it.to_string());
        let size = field.element_extent.size;
        code.line(format!(
            "if (!situ_bulk_place(&bulk[{at}], lengths->{}, {size}, {bound}, &end)) {{",
            lengths[at]
        ));
        code.line(format!(
            "  return situ_refuse(error, SITU_ERROR_INVALID_ARGUMENT, \"{name}\", \"{path}: its length exceeds its bound, or memory\");"
        ));
        code.line("}");
    }
    lend(code, name, "(size_t)end");
    code.line(format!("*message = ({name}*)loan->head;"));
    code.line(format!("{name}_init(*message);"));
    for (at, field) in bulk.iter().enumerate() {
        // The descriptor's place is known, and the names on the way to it are not needed.
        code.line(format!("memcpy((char*)loan->head + {}, &bulk[{at}], sizeof(situ_bulk));", field.offset));
    }
    code.line("return SITU_OK;");
    code.dedent();
    code.line("}");
}

fn take(code: &mut CodeWriter, name: &str, bulk: &[BulkField]) {
    code.gap();
    code.line("/* Takes the next message, if there is one, and checks it. Call situ_sample_release when it is read. Errors: those");
    code.line(
        " * of situ_subscriber_take; TYPE if its publisher serialized it; MALFORMED if it is not valid. */",
    );
    code.line(format!(
        "static inline situ_status {name}_take(situ_subscriber* subscriber, situ_sample* sample,"
    ));
    code.line(format!("    const {name}** message, situ_error* error) {{"));
    code.indent();
    code.line("*message = NULL;");
    code.line("situ_status status = situ_subscriber_take(subscriber, sample, error);");
    code.line("if (status != SITU_OK) return status;");
    code.line(format!("status = situ_expect_flat(sample, sizeof({name}), \"{name}\", error);"));
    code.line("if (status != SITU_OK) return status;");
    code.line(format!("const char* problem = {name}_check((const {name}*)sample->head);"));
    for field in bulk {
        let path = field.path.join(".");
        let arguments = bulk_arguments(field);
        code.line(format!("if (!problem && !situ_bulk_at(sample->head, sample->body, sample->body_size, {arguments}, NULL)) {{"));
        code.line(format!("  problem = \"{path}: its elements do not lie in the body\";"));
        code.line("}");
    }
    code.line("if (problem) {");
    code.line("  situ_sample_release(sample);");
    code.line(format!("  return situ_refuse(error, SITU_ERROR_MALFORMED, \"{name}\", problem);"));
    code.line("}");
    code.line(format!("*message = (const {name}*)sample->head;"));
    code.line("return SITU_OK;");
    code.dedent();
    code.line("}");
}

fn bulk_arguments(field: &BulkField) -> String {
    let bound = field.bound.map_or("UINT64_MAX".to_owned(), |it| it.to_string());
    format!("{}, {}, {}, {bound}", field.offset, field.element_extent.size, field.element_extent.align)
}

/// Access to a bulk field: of a sample, to be read, and of a loan, to be written.
fn access(code: &mut CodeWriter, schema: &Named, id: TypeId, field: &BulkField, accessor: &str) {
    let name = schema.type_name(id);
    let path = field.path.join(".");
    let arguments = bulk_arguments(field);
    code.gap();
    code.line(format!("/* The elements of `{path}`, and their number. Booleans among them may have other values than 0 and 1. */"));
    let function = declare(
        schema,
        &field.element,
        &format!("*{name}{accessor}(const situ_sample* sample, size_t* count)"),
    );
    let cast = declare(schema, &field.element, "*");
    code.line(format!("static inline const {function} {{"));
    code.line(format!(
        "  return (const {cast})situ_bulk_at(sample->head, sample->body, sample->body_size, {arguments}, count);"
    ));
    code.line("}");
    let function = declare(
        schema,
        &field.element,
        &format!("*{name}{accessor}_mut(const situ_loan* loan, size_t* count)"),
    );
    code.line(format!("static inline {function} {{"));
    code.line(format!(
        "  return ({cast})(uintptr_t)situ_bulk_at(loan->head, loan->body, loan->body_size, {arguments}, count);"
    ));
    code.line("}");
}
