/** A media type without parameters, in lower case; undefined if invalid (RFC 9110 section 8.3.1). */
export function essenceOf(field = ''): string | undefined {
  const essence = (field.split(';')[0] ?? '').trim().toLowerCase();
  return /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/.test(essence) ? essence : undefined;
}

const textSubtype =
  /^(?:.+\+)?(?:xml|xml-dtd|javascript|ecmascript|x-javascript|typescript|x-ndjson|ndjson|jsonl|jsonlines|x-jsonlines|json-seq|yaml|x-yaml|toml|csv|sql|graphql|x-sh|x-www-form-urlencoded|x-pem-file|rtf|x-subrip|x-tex|x-latex)$/;

export const isTextType = (essence: string): boolean =>
  essence.startsWith('text/') ? essence !== 'text/json' : textSubtype.test(essence.slice(essence.indexOf('/') + 1));

export const isJsonContent = (essence: string): boolean => /^[^/]+\/(?:.+\+)?json$/.test(essence);
