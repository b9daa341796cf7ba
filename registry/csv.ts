import { stringifyJson } from '../client/json.ts';
import { isObject } from '../functions/core/json/json.ts';

/** Members of members get names with a dot; arrays are JSON. */
const flatten = (record: object, prefix = ''): [string, unknown][] =>
  Object.entries(record).flatMap(([name, value]) =>
    isObject(value) ? flatten(value, `${prefix}${name}.`) : [[prefix + name, value] as [string, unknown]],
  );

/**
 * A cell (RFC 4180). What a spreadsheet would take for a formula begins with an apostrophe, because agents choose some of the texts: at the beginning,
 * and after a semicolon, at which many spreadsheets separate cells, too.
 */
function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  const written = typeof value === 'string' ? value.replace(/^[=+\-@\t\r\n＝＋－＠]/, "'$&") : stringifyJson(value);
  const text = written.replace(/(?<=;\s*)(?=[=+\-@＝＋－＠])/g, "'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Records as comma-separated values, with a heading of all their members' names. Empty if there are no records. */
export function toCsv(records: readonly unknown[]): string {
  const rows = records.map((record) => new Map(flatten(isObject(record) ? record : { value: record })));
  const heads = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  if (heads.length === 0) return '';
  return [heads, ...rows.map((row) => heads.map((head) => row.get(head)))].map((row) => `${row.map(cell).join(',')}\n`).join('');
}
