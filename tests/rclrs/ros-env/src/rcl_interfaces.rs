//! Parameters: the types that rclrs builds of the strings and sequences of rosidl_runtime_rs. They are only there to be compiled: the
//! nodes of the test have no parameter services.

/// Structs that never meet the middleware, and never lie in a sequence.
macro_rules! never_sent {
    ($($name:ident { $($member:ident: $type:ty),* $(,)? })*) => {$(
        #[derive(Clone, Debug, Default, PartialEq, PartialOrd)]
        #[allow(non_camel_case_types, missing_docs)]
        pub struct $name {
            $(pub $member: $type),*
        }

        impl rosidl_runtime_rs::Message for $name {
            type RmwMsg = Self;

            fn into_rmw_message(message: std::borrow::Cow<'_, Self>) -> std::borrow::Cow<'_, Self> {
                message
            }

            fn from_rmw_message(message: Self) -> Self {
                message
            }
        }

        impl rosidl_runtime_rs::RmwMessage for $name {
            const TYPE_NAME: &'static str = stringify!($name);

            fn get_type_support() -> *const std::ffi::c_void {
                panic!("there are no parameter services in this test")
            }
        }

        impl rosidl_runtime_rs::SequenceAlloc for $name {
            fn sequence_init(_: &mut rosidl_runtime_rs::Sequence<Self>, size: usize) -> bool {
                size == 0
            }

            fn sequence_fini(_: &mut rosidl_runtime_rs::Sequence<Self>) {}

            fn sequence_copy(
                from: &rosidl_runtime_rs::Sequence<Self>,
                _: &mut rosidl_runtime_rs::Sequence<Self>,
            ) -> bool {
                from.is_empty()
            }
        }
    )*};
}

/// Services of such structs.
macro_rules! never_asked {
    ($($name:ident $request:ident $response:ident)*) => {$(
        #[allow(missing_docs)]
        pub struct $name;

        impl rosidl_runtime_rs::Service for $name {
            type Request = $request;
            type Response = $response;

            fn get_type_support() -> *const std::ffi::c_void {
                panic!("there are no parameter services in this test")
            }
        }
    )*};
}

/// The folder `msg`.
pub mod msg {
    /// As C has them.
    pub mod rmw {
        use rosidl_runtime_rs::{BoundedSequence, Sequence, String};

        never_sent! {
            FloatingPointRange { from_value: f64, to_value: f64, step: f64 }
            IntegerRange { from_value: i64, to_value: i64, step: u64 }
            ListParametersResult { names: Sequence<String>, prefixes: Sequence<String> }
            Parameter { name: String, value: ParameterValue }
            ParameterDescriptor {
                name: String,
                type_: u8,
                description: String,
                additional_constraints: String,
                read_only: bool,
                dynamic_typing: bool,
                floating_point_range: BoundedSequence<FloatingPointRange, 1>,
                integer_range: BoundedSequence<IntegerRange, 1>,
            }
            ParameterType {}
            ParameterValue {
                type_: u8,
                bool_value: bool,
                integer_value: i64,
                double_value: f64,
                string_value: String,
                byte_array_value: Sequence<u8>,
                bool_array_value: Sequence<bool>,
                integer_array_value: Sequence<i64>,
                double_array_value: Sequence<f64>,
                string_array_value: Sequence<String>,
            }
            SetParametersResult { successful: bool, reason: String }
        }

        #[allow(missing_docs)]
        impl ParameterType {
            pub const PARAMETER_NOT_SET: u8 = 0;
            pub const PARAMETER_BOOL: u8 = 1;
            pub const PARAMETER_INTEGER: u8 = 2;
            pub const PARAMETER_DOUBLE: u8 = 3;
            pub const PARAMETER_STRING: u8 = 4;
            pub const PARAMETER_BYTE_ARRAY: u8 = 5;
            pub const PARAMETER_BOOL_ARRAY: u8 = 6;
            pub const PARAMETER_INTEGER_ARRAY: u8 = 7;
            pub const PARAMETER_DOUBLE_ARRAY: u8 = 8;
            pub const PARAMETER_STRING_ARRAY: u8 = 9;
        }
    }
}

/// The folder `srv`.
pub mod srv {
    /// As C has them.
    pub mod rmw {
        use rosidl_runtime_rs::{Sequence, String};

        use super::super::msg::rmw::{
            ListParametersResult, Parameter, ParameterDescriptor, ParameterValue, SetParametersResult,
        };

        never_sent! {
            DescribeParameters_Request { names: Sequence<String> }
            DescribeParameters_Response { descriptors: Sequence<ParameterDescriptor> }
            GetParameterTypes_Request { names: Sequence<String> }
            GetParameterTypes_Response { types: Sequence<u8> }
            GetParameters_Request { names: Sequence<String> }
            GetParameters_Response { values: Sequence<ParameterValue> }
            ListParameters_Request { prefixes: Sequence<String>, depth: u64 }
            ListParameters_Response { result: ListParametersResult }
            SetParameters_Request { parameters: Sequence<Parameter> }
            SetParameters_Response { results: Sequence<SetParametersResult> }
            SetParametersAtomically_Request { parameters: Sequence<Parameter> }
            SetParametersAtomically_Response { result: SetParametersResult }
        }

        never_asked! {
            DescribeParameters DescribeParameters_Request DescribeParameters_Response
            GetParameterTypes GetParameterTypes_Request GetParameterTypes_Response
            GetParameters GetParameters_Request GetParameters_Response
            ListParameters ListParameters_Request ListParameters_Response
            SetParameters SetParameters_Request SetParameters_Response
            SetParametersAtomically SetParametersAtomically_Request SetParametersAtomically_Response
        }

        impl ListParameters_Request {
            /// All of them.
            pub const DEPTH_RECURSIVE: u64 = 0;
        }
    }
}
