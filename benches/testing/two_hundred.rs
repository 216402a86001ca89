//! 200 tests of one function from `a::one` to `t::ten`.

/// Makes 200 tests that call a function and fail if it returns an error.
macro_rules! tests {
    ($function:ident) => {
        crate::two_hundred::tests! { $function, a b c d e f g h i j k l m n o p q r s t }
    };
    ($function:ident, $($name:ident)*) => {
        $(mod $name {
            crate::two_hundred::tests! {
                @ $function, one two three four five six seven eight nine ten
            }
        })*
    };
    (@ $function:ident, $($name:ident)*) => {
        $(#[test]
        fn $name() {
            if let Err(error) = crate::$function() {
                panic!("{error}");
            }
        })*
    };
}

pub(crate) use tests;
