"""A few calls of libpq through ctypes: what the differential tester and the benchmark need of a connection.

Only Python's standard library and the libpq that comes with psql are needed. Connection parameters come from
the connection string and from PGHOST, PGPORT, PGUSER and PGDATABASE, as for psql.
"""
import ctypes

_TUPLES_OK, _COMMAND_OK, _COPY_OUT = 2, 1, 3

_pq = ctypes.CDLL("libpq.so.5")
_pointer, _text, _int = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
for _name, _result, _arguments in [
    ("PQconnectdb", _pointer, [_text]),
    ("PQstatus", _int, [_pointer]),
    ("PQfinish", None, [_pointer]),
    ("PQerrorMessage", _text, [_pointer]),
    ("PQsendQuery", _int, [_pointer, _text]),
    ("PQgetResult", _pointer, [_pointer]),
    ("PQresultStatus", _int, [_pointer]),
    ("PQresultErrorMessage", _text, [_pointer]),
    ("PQresultErrorField", _text, [_pointer, _int]),
    ("PQntuples", _int, [_pointer]),
    ("PQnfields", _int, [_pointer]),
    ("PQgetvalue", _text, [_pointer, _int, _int]),
    ("PQgetisnull", _int, [_pointer, _int, _int]),
    ("PQclear", None, [_pointer]),
    ("PQgetCopyData", _int, [_pointer, ctypes.POINTER(_pointer), _int]),
    ("PQfreemem", None, [_pointer]),
    ("PQsetNoticeProcessor", _pointer, [_pointer, _pointer, _pointer]),
]:
    _function = getattr(_pq, _name)
    _function.restype, _function.argtypes = _result, _arguments

_NoticeProcessor = ctypes.CFUNCTYPE(None, _pointer, _text)


class DatabaseError(Exception):
    """An error that the server reported; sqlstate is None when the connection was lost."""

    def __init__(self, message, sqlstate):
        super().__init__(message.strip())
        self.sqlstate = sqlstate


class Connection:
    """on_notice: called with the text of each notice; they are ignored without it."""

    def __init__(self, parameters="", on_notice=lambda text: None):
        self._connection = _pq.PQconnectdb(parameters.encode())
        if _pq.PQstatus(self._connection) != 0:
            raise DatabaseError(_pq.PQerrorMessage(self._connection).decode(), None)
        self._on_notice = _NoticeProcessor(lambda _, message: on_notice(message.decode()))
        _pq.PQsetNoticeProcessor(self._connection, ctypes.cast(self._on_notice, _pointer), None)

    def close(self):
        _pq.PQfinish(self._connection)

    def execute(self, sql):
        """Runs one or more commands; returns the rows of the last one that gave any, as lists of str or None.

        COPY ... TO STDOUT gives each line as bytes.
        """
        if not _pq.PQsendQuery(self._connection, sql.encode()):
            raise DatabaseError(_pq.PQerrorMessage(self._connection).decode(), None)
        rows, error = [], None
        while result := _pq.PQgetResult(self._connection):
            try:
                status = _pq.PQresultStatus(result)
                if status == _TUPLES_OK:
                    rows = _rows_of(result)
                elif status == _COPY_OUT:
                    rows = self._copy_lines()
                elif status != _COMMAND_OK:
                    state = _pq.PQresultErrorField(result, ord("C"))
                    message = _pq.PQresultErrorMessage(result).decode()
                    error = error or DatabaseError(message, state.decode() if state else None)
            finally:
                _pq.PQclear(result)
        if error:
            raise error
        return rows

    def value(self, sql):
        """The first column of the first row."""
        return self.execute(sql)[0][0]

    def _copy_lines(self):
        lines, buffer = [], _pointer()
        while (size := _pq.PQgetCopyData(self._connection, ctypes.byref(buffer), 0)) > 0:
            lines.append(ctypes.string_at(buffer, size))
            _pq.PQfreemem(buffer)
        return lines


def _rows_of(result):
    return [
        [
            None if _pq.PQgetisnull(result, row, column) else _pq.PQgetvalue(result, row, column).decode()
            for column in range(_pq.PQnfields(result))
        ]
        for row in range(_pq.PQntuples(result))
    ]
