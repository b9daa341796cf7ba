/** A media type without its parameters, in lower case; undefined if a field has none that RFC 9110 section 8.3.1 allows. */
export function essenceOf(field = ''): string | undefined {
  const essence = (field.split(';')[0] ?? '').trim().toLowerCase();
  return /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/.test(essence) ? essence : undefined;
}

const textSubtype =
  /^(?:.+\+)?(?:xml|xml-dtd|javascript|ecmascript|x-javascript|typescript|x-ndjson|ndjson|jsonl|jsonlines|x-jsonlines|json-seq|yaml|x-yaml|toml|csv|sql|graphql|x-sh|x-www-form-urlencoded|x-pem-file|rtf|x-subrip|x-tex|x-latex)$/;

/** Whether content of this type is text, and no JSON document. */
export const isTextType = (essence: string): boolean =>
  essence.startsWith('text/') ? essence !== 'text/json' : textSubtype.test(essence.slice(essence.indexOf('/') + 1));

/** Whether content of this type is one JSON document. */
export const isJsonContent = (essence: string): boolean => /^[^/]+\/(?:.+\+)?json$/.test(essence);
