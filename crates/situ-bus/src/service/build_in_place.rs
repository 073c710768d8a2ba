//! The methods that requests and replies under construction have in common with every loan.
//!
//! These structures show their loan for reading only: a loan that could be exchanged for another one would
//! not belong to their publisher any more.

macro_rules! build_in_place {
    ($loan:ident) => {
        impl $loan<'_> {
            /// The head's bytes, for writing: see [`RawLoan::head_bytes`](crate::RawLoan::head_bytes).
            #[inline]
            pub fn head_bytes(&mut self) -> &mut [u8] {
                self.loan.head_bytes()
            }

            /// The body's bytes, for writing: see [`RawLoan::body_bytes`](crate::RawLoan::body_bytes).
            #[inline]
            pub fn body_bytes(&mut self) -> &mut [u8] {
                self.loan.body_bytes()
            }

            /// Sets the encoding of the message's bytes, if it differs from the type's description.
            pub fn set_encoding(&mut self, encoding: crate::topic::Encoding) {
                self.loan.set_encoding(encoding);
            }

            /// Makes the body smaller than requested.
            pub fn shrink_body(&mut self, size: usize) {
                self.loan.shrink_body(size);
            }

            /// Makes the body larger in place: see [`RawLoan::grow_body`](crate::RawLoan::grow_body).
            pub fn grow_body(&mut self, size: usize) -> Result<usize, LoanError> {
                self.loan.grow_body(size)
            }

            /// Moves a message without a body into the domain of bodies, and returns its span there: see
            /// [`RawLoan::span_of_message`](crate::RawLoan::span_of_message).
            pub fn span_of_message(&mut self) -> Result<crate::DeviceSpan<'_, u8>, LoanError> {
                self.loan.span_of_message()
            }
        }
    };
}

pub(super) use build_in_place;
