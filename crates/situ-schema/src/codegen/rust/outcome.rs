//! What operations give or raise: an enum of the exceptions, and the conversion of the response.

use super::Generator;
use super::call::Call;
use super::names::{self, EXCEPTION, Scope};
use super::types::{Dependence, storage_of};
use super::union::variants;
use super::writer::CodeWriter;
use crate::model::{Case, Kind, Service, Type, TypeId};

impl Generator<'_> {
    /// What belongs to an operation that raises exceptions. An inherited one has that of its base.
    pub fn outcome(&self, code: &mut CodeWriter, scope: &Scope, service: &Service) {
        let response = self.schema.definition(service.response);
        let Some(raises) = service.raises.filter(|_| service.declares(&response.name)) else { return };
        let Kind::Union(union) = &self.schema.definition(raises.outcome).kind else { return };
        let Some([reply]) = response.kind.as_struct().map(|it| it.members.as_slice()) else { return };
        let cases: Vec<&Case> = union.cases.iter().collect();
        let (variants, called) = (variants(&cases), names::cases(&union.cases));
        let is_flat = self.flat_by_default && self.schema.is_flat(service.response);
        let types: Vec<(TypeId, String)> = cases
            .iter()
            .filter_map(|case| match case.member.ty {
                Type::Named(id) => Some((id, self.stored(scope, id, is_flat))),
                _ => None,
            })
            .collect();
        let ([(_, output), raised @ ..], [of_output, of_raised @ ..]) = (&*types, &*variants) else { return };
        let name = self.names.companion(raises.outcome, EXCEPTION);

        code.gap();
        code.line(format!("/// What the operation `{}` raises.", service.name));
        code.line("#[allow(clippy::large_enum_variant)]");
        code.line("#[derive(Clone, Debug, PartialEq)]");
        code.block(format!("pub enum {name}"), |code| {
            for ((id, ty), variant) in raised.iter().zip(of_raised) {
                let definition = self.schema.definition(*id);
                code.docs(&definition.docs, || format!("`{}`.", definition.name));
                code.line(format!("{variant}({ty}),"));
            }
        });
        code.gap();
        code.block(format!("impl ::core::fmt::Display for {name}"), |code| {
            code.block("fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result", |code| {
                code.block("match self", |code| {
                    for variant in of_raised {
                        let shown = Call::new("::core::fmt::Debug::fmt".into(), &["exception", "f"]);
                        code.arm(&format!("Self::{variant}(exception)"), &shown);
                    }
                });
            });
        });
        code.gap();
        code.line(format!("impl ::core::error::Error for {name} {{}}"));
        for ((_, ty), variant) in raised.iter().zip(of_raised) {
            code.gap();
            code.block(format!("impl ::core::convert::From<{ty}> for {name}"), |code| {
                code.block(format!("fn from(exception: {ty}) -> Self"), |code| {
                    code.line(format!("Self::{variant}(exception)"));
                });
            });
        }

        let member = &reply.name;
        let own = scope.path(&response.name);
        code.gap();
        code.line("#[allow(clippy::result_large_err)]");
        code.block(format!("impl {} for {own}", self.layout("Outcome")), |code| {
            code.assign("type Output", output, ";");
            code.assign("type Exception", &name, ";");
            let result = "::core::result::Result<Self::Output, Self::Exception>";
            code.gap();
            code.block(format!("fn of(outcome: {result}) -> Self"), |code| {
                code.line("let mut response = <Self as ::core::default::Default>::default();");
                code.block("match outcome", |code| {
                    let set = |case: &Case| {
                        let set = &called[case.member.name.as_str()].set;
                        Call::new(format!("response.{member}.{set}"), &["value"])
                    };
                    code.arm("::core::result::Result::Ok(value)", &set(cases[0]));
                    for (case, variant) in cases[1..].iter().zip(of_raised) {
                        code.arm(
                            &format!("::core::result::Result::Err({name}::{variant}(value))"),
                            &set(case),
                        );
                    }
                });
                code.line("response");
            });
            code.gap();
            code.block(format!("fn outcome(&self) -> ::core::option::Option<{result}>"), |code| {
                let case = self.names.companion(raises.outcome, "Case");
                let held = scope.beside(self.schema.name(raises.outcome), &case);
                let clone = "::core::clone::Clone::clone(value)";
                code.block(format!("match self.{member}.case()"), |code| {
                    let mut arm = |variant: &str, wrapped: String| {
                        let some = Call::new("::core::option::Option::Some".into(), &[&wrapped]);
                        code.arm(&format!("{held}::{variant}(value)"), &some);
                    };
                    arm(of_output, format!("::core::result::Result::Ok({clone})"));
                    for variant in of_raised {
                        let raised = format!("{name}::{variant}({clone})");
                        arm(variant, format!("::core::result::Result::Err({raised})"));
                    }
                    code.line(format!("{held}::Nothing => ::core::option::Option::None,"));
                });
            });
        });
    }

    /// A type, in the storage in which the response is by default.
    fn stored(&self, scope: &Scope, id: TypeId, is_flat: bool) -> String {
        let path = scope.path(self.schema.name(id));
        let is_so = self.flat_by_default && self.schema.is_flat(id) == is_flat;
        match storage_of(self.schema, id) {
            Dependence::None => path,
            _ if is_so => path,
            _ => format!("{path}<{}>", self.layout(if is_flat { "Flat" } else { "Heap" })),
        }
    }
}
