//! What operations give or raise: the types of both, and the conversion of the response.

use super::names::Named;
use super::writer::CodeWriter;
use crate::model::{Kind, Service, Type, TypeId};

/// The members of a service type that belong to an operation that raises exceptions.
pub fn members(code: &mut CodeWriter, schema: &Named, service: &Service) {
    let Some(raises) = service.raises else { return };
    let Kind::Union(union) = &schema.definition(raises.outcome).kind else { return };
    let response = schema.definition(service.response);
    let Some([reply]) = response.kind.as_struct().map(|it| it.members.as_slice()) else { return };
    let types: Vec<(TypeId, String)> = union
        .cases
        .iter()
        .filter_map(|case| match case.member.ty {
            Type::Named(id) => Some((id, stored(schema, id, schema.is_flat(service.response)))),
            _ => None,
        })
        .collect();
    let cases = schema.cases(raises.outcome);
    let ([(_, output), raised @ ..], [of_output, of_raised @ ..]) = (&*types, &*cases) else { return };
    let members = schema.members(service.response);
    let held = format!("response.{}", members.get(&reply.name));

    code.line("/// What the operation gives.");
    code.line(format!("using Output = {output};"));
    code.line("/// What it raises.");
    let raised: Vec<String> = raised.iter().map(|(_, ty)| ty.clone()).collect();
    code.list("using Exception = ::std::variant<", &raised, ",", ">;");
    code.line("using Outcome = ::situ::result<Output, Exception>;");
    code.line("/// The response for an outcome.");
    code.line("[[nodiscard]] static Response respond(Outcome outcome) {");
    code.indent();
    code.line("Response response;");
    code.line("if (outcome) {");
    code.line(format!("  {held}.{}(::std::move(*outcome));", of_output.set));
    code.line("  return response;");
    code.line("}");
    code.line("Exception raised = ::std::move(outcome).error();");
    for (index, case) in of_raised.iter().enumerate() {
        code.line(format!("if (auto* value = ::std::get_if<{index}>(&raised)) {{"));
        code.line(format!("  {held}.{}(::std::move(*value));", case.set));
        code.line("}");
    }
    code.line("return response;");
    code.dedent();
    code.line("}");
    code.line("/// The outcome in a response; nothing if it has neither: then its server is broken.");
    code.line("[[nodiscard]] static ::std::optional<Outcome> outcome_of(const Response& response) {");
    code.indent();
    code.line(format!("if (const auto* value = {held}.{}()) return Outcome(*value);", of_output.get_if));
    for (index, case) in of_raised.iter().enumerate() {
        code.line(format!("if (const auto* value = {held}.{}()) {{", case.get_if));
        let raised = format!("Exception(::std::in_place_index<{index}>, *value)");
        code.line(format!("  return Outcome(::situ::failure{{{raised}}});"));
        code.line("}");
    }
    code.line("return ::std::nullopt;");
    code.dedent();
    code.line("}");
}

/// The function that tells the operation of a response. An inherited operation has the response of its base.
pub fn association(code: &mut CodeWriter, schema: &Named, service: &Service) {
    let response = schema.name(service.response);
    if service.raises.is_none() || !service.declares(response) {
        return;
    }
    let (own, response) = (schema.ident(&service.name), schema.qualified(response, schema.ident(response)));
    code.line(format!("{own} situ_operation_of(const {response}*);"));
}

/// A type, in the storage in which the response is by default.
fn stored(schema: &Named, id: TypeId, is_flat: bool) -> String {
    let (name, template) = (schema.name(id), schema.template(id));
    if template.is_empty() || schema.is_flat(id) == is_flat {
        return schema.qualified(name, schema.simple(id));
    }
    let storage = if is_flat { "flat" } else { "heap" };
    format!("{}<::situ::{storage}>", schema.qualified(name, template))
}
