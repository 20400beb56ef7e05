//! Values in PostgreSQL's binary form: ids as uuids, and parameters that are encoded before they are sent.

use std::error::Error;

use anyhow::Result;
use bytes::{Buf, BufMut, BytesMut};
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

type Converted<T> = Result<T, Box<dyn Error + Sync + Send>>;

/// A 128-bit id, a uuid there: 16 bytes, most significant first, so that uuids sort as the numbers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub u128);

impl ToSql for Id {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Converted<IsNull> {
        out.put_u128(self.0);
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }

    to_sql_checked!();
}

impl FromSql<'_> for Id {
    fn from_sql(_: &Type, mut bytes: &[u8]) -> Converted<Self> {
        if bytes.len() != size_of::<u128>() {
            return Err(format!("a uuid of {} bytes", bytes.len()).into());
        }
        Ok(Self(bytes.get_u128()))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }
}

/// A statement's parameter in the bytes in which it is sent; never null.
#[derive(Debug)]
pub struct Parameter {
    kind: Type,
    bytes: BytesMut,
}

impl Parameter {
    /// One without a value yet.
    pub fn new(kind: Type) -> Self {
        Self { kind, bytes: BytesMut::new() }
    }

    /// Encodes a value into the buffer of the one before.
    pub fn set(&mut self, value: &dyn ToSql) -> Result<()> {
        self.bytes.clear();
        let encoded = value.to_sql_checked(&self.kind, &mut self.bytes);
        match encoded.map_err(|error| anyhow::anyhow!(error))? {
            IsNull::No => Ok(()),
            IsNull::Yes => anyhow::bail!("a parameter that is null"),
        }
    }

    /// Bytes of the value.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl ToSql for Parameter {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Converted<IsNull> {
        if *kind != self.kind {
            return Err(format!("encoded as {}, but the statement takes {kind}", self.kind).into());
        }
        out.put_slice(&self.bytes);
        Ok(IsNull::No)
    }

    /// The type is that of the value, so `to_sql` compares it.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it is sent where the statement takes that type.
    fn sent(parameter: &Parameter, kind: &Type) -> Converted<BytesMut> {
        let mut out = BytesMut::new();
        parameter.to_sql_checked(kind, &mut out).map(|_| out)
    }

    #[test]
    fn ids_are_uuids_and_come_back() {
        let id = Id(0x0123_4567_89ab_cdef_0000_0000_0000_00ff);
        let mut bytes = BytesMut::new();
        id.to_sql_checked(&Type::UUID, &mut bytes).expect("a uuid");
        assert_eq!(bytes[..3], [0x01, 0x23, 0x45]);
        assert_eq!(Id::from_sql(&Type::UUID, &bytes).expect("a uuid"), id);
        assert!(Id::from_sql(&Type::UUID, &bytes[1..]).is_err(), "15 bytes");
        assert!(id.to_sql_checked(&Type::INT8, &mut bytes).is_err(), "not a uuid");
    }

    #[test]
    fn parameters_are_sent_as_the_values_would_be() {
        let mut parameter = Parameter::new(Type::UUID_ARRAY);
        for ids in [vec![Id(1), Id(u128::MAX)], vec![Id(2)], vec![]] {
            parameter.set(&ids).expect("uuids");
            let mut plain = BytesMut::new();
            ids.to_sql_checked(&Type::UUID_ARRAY, &mut plain).expect("uuids");
            assert_eq!(sent(&parameter, &Type::UUID_ARRAY).expect("uuids"), plain);
        }
        assert!(sent(&parameter, &Type::INT8_ARRAY).is_err(), "it is of another type");
        assert!(parameter.set(&vec![1i64]).is_err(), "a value of another type");
    }
}
