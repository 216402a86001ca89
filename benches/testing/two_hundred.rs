// 200 tests of `menu`, named a_b with a from 0 to 19 and b from 0 to 9.

macro_rules! ten {
    ($($name:ident)*) => {
        $(mod $name {
            ten!(@ zero one two three four five six seven eight nine);
        })*
    };
    (@ $($name:ident)*) => {
        $(#[test]
        fn $name() {
            if let Err(error) = crate::menu() {
                panic!("{error}");
            }
        })*
    };
}

ten!(a b c d e f g h i j k l m n o p q r s t);
