import { useState } from 'preact/hooks';
import type { Issue } from '../../../schemas/errors.ts';
import type { Field, Typed } from '../field-values.ts';
import { hasFields } from '../nested.ts';
import { FormField, isJson, problemsOf } from './field.tsx';
import { NestedField } from './nested-field.tsx';

interface FieldsProps {
  fields: readonly Field[];
  typed: Typed;
  issues: readonly Issue[];
  onTyped(typed: Typed): void;
}

export const Fields = ({ fields, typed, issues, onTyped }: FieldsProps) =>
  fields.map((field) => {
    const given = { field, text: typed[field.name] ?? '', onText: (text: string) => onTyped({ ...typed, [field.name]: text }) };
    return isJson(field) && hasFields(field.schema) ? (
      <NestedField key={field.name} {...given} issues={issues} />
    ) : (
      <FormField key={field.name} {...given} problems={problemsOf(field, issues)} />
    );
  });

/** Required fields, then optional ones, which are folded unless one is filled in or invalid, or all fields are optional. */
export function FoldedFields({ fields, ...rest }: FieldsProps) {
  const [isUnfolded, setUnfolded] = useState<boolean>();
  const required = fields.filter((field) => field.required);
  const optional = fields.filter((field) => !field.required);
  const isTyped = optional.some(({ name }) => (rest.typed[name] ?? '') !== '');
  const isInvalid = optional.some((field) => problemsOf(field, rest.issues).length > 0);
  return (
    <>
      <Fields fields={required} {...rest} />
      {optional.length > 0 && (
        <details
          open={isInvalid || (isUnfolded ?? (isTyped || required.length === 0))}
          onToggle={({ currentTarget }) => setUnfolded(currentTarget.open)}
        >
          <summary>Optional ({optional.length})</summary>
          <Fields fields={optional} {...rest} />
        </details>
      )}
    </>
  );
}
