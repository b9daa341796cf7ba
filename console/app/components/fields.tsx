import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { isObject } from '../../../functions/core/json/json.ts';
import type { Issue } from '../../../schemas/errors.ts';
import { parseExact } from '../../../schemas/number.ts';
import { type Field, pathOf, pathTo, readFields, type Typed, typeValue } from '../field-values.ts';
import { exampleOf, hasFields, toField, typeOf, unfold, withMember } from '../nested.ts';
import { Button, Fold } from './controls.tsx';
import { FormField, isJson, Problems, problemsOf } from './field.tsx';
import { Shown } from './text.tsx';

export interface FieldsProps {
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

interface NestedFieldProps {
  field: Field;
  /** JSON; empty if there is no value */
  text: string;
  issues: readonly Issue[];
  onText(text: string): void;
}

/** Fields for the content of a list or object. Invalid JSON and values of another type are edited as text. */
function NestedField({ field, text, issues, onText }: NestedFieldProps) {
  const [isText, setText] = useState(false);
  const value = text === '' ? undefined : readJson(text);
  const isReadable =
    value === undefined ? text === '' : Array.isArray(value) ? field.type === 'array' : isObject(value) && field.type === 'object';
  const toggle = (title: string, next: boolean) => (
    <Button title={title} kind="plain" isDisabled={!isReadable} onClick={() => setText(next)} />
  );
  if (isText || !isReadable) {
    return (
      <>
        <FormField field={field} text={text} problems={problemsOf(field, issues)} onText={onText} />
        <p>{toggle('Edit as fields', false)}</p>
      </>
    );
  }
  return (
    <Node
      field={field}
      value={value}
      issues={issues}
      onValue={(next) => onText(next === undefined ? '' : JSON.stringify(next, null, 2))}
      tool={toggle('Edit as JSON', true)}
    />
  );
}

function readJson(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

interface NodeProps {
  field: Field;
  value: unknown;
  issues: readonly Issue[];
  /** undefined removes the value */
  onValue(value: unknown): void;
  tool?: ComponentChildren;
}

function Node({ field, value, issues, onValue, tool }: NodeProps) {
  const schema = unfold(field.schema ?? {});
  if (!hasFields(schema)) return <Leaf field={field} value={value} issues={issues} onValue={onValue} />;
  const { label = field.name, description, required = false } = field;
  const own = issues.flatMap(({ path, problem }) => (path === pathOf(field) ? [problem] : []));
  const inner = { field, schema, issues, onValue };
  return (
    <fieldset class="group">
      <legend>
        <Shown text={label} />
        {required && <span class="required"> (required)</span>}
      </legend>
      {description && (
        <p class="hint">
          <Shown text={description} />
        </p>
      )}
      <Problems problems={own} />
      {field.type === 'array' ? (
        <Items {...inner} value={Array.isArray(value) ? value : []} tool={tool} />
      ) : (
        <>
          <Members {...inner} value={isObject(value) ? value : {}} />
          {tool && <p class="buttons">{tool}</p>}
        </>
      )}
    </fieldset>
  );
}

/** A field for a simple value. Input that is not valid for its type stays a string, which the form's validation reports. */
function Leaf({ field, value, issues, onValue }: NodeProps) {
  const read = (text: string): unknown => {
    const { values, issues: unread } = readFields([field], { [field.name]: text });
    return unread.length > 0 ? text : values[field.name];
  };
  return (
    <FormField field={field} text={typeValue(field, value)} problems={problemsOf(field, issues)} onText={(text) => onValue(read(text))} />
  );
}

type InnerProps<Value> = Omit<NodeProps, 'value'> & { schema: ReturnType<typeof unfold>; value: Value };

function Members({ field, schema: { properties = {}, required = [] }, value, issues, onValue }: InnerProps<Record<string, unknown>>) {
  const isFilled = (name: string) => value[name] !== undefined;
  const show = (name: string) => {
    const inner = unfold(properties[name] ?? {});
    const member = toField(name, inner, [...pathTo(field), name], required.includes(name));
    return (
      <Node key={name} field={member} value={value[name]} issues={issues} onValue={(next) => onValue(withMember(value, [name], next))} />
    );
  };
  const names = Object.keys(properties);
  const needed = names.filter((name) => required.includes(name));
  const optional = names.filter((name) => !required.includes(name));
  return (
    <>
      {needed.map(show)}
      {optional.length > 0 && (
        <Fold summary={`Optional (${optional.length})`} isOpen={optional.some(isFilled) || (needed.length === 0 && optional.length <= 4)}>
          {() => optional.map(show)}
        </Fold>
      )}
    </>
  );
}

function Items({ field, schema: { items = {} }, value, issues, onValue, tool }: InnerProps<unknown[]>) {
  const inner = unfold(items);
  const name = field.label ?? field.name;
  const set = (next: unknown[]) => onValue(next.length > 0 ? next : undefined);
  return (
    <>
      {value.map((item, at) => (
        <div key={at} class="item">
          <Node
            field={toField(`${name} ${at + 1}`, inner, [...pathTo(field), String(at)], false)}
            value={item}
            issues={issues}
            onValue={(next) => set(value.with(at, next ?? emptyOf(inner)))}
          />
          <Button title="Remove" kind="plain" label={`Remove ${name} ${at + 1}`} onClick={() => set(value.toSpliced(at, 1))} />
        </div>
      ))}
      <p class="buttons">
        <Button title="Add" kind="plain" label={`Add to ${name}`} onClick={() => set([...value, emptyOf(inner)])} />
        {tool}
      </p>
    </>
  );
}

const emptyOf = (schema: ReturnType<typeof unfold>): unknown => {
  const type = typeOf(schema);
  if (schema.enum) return schema.enum[0];
  return type === 'object' ? {} : type === 'array' ? [] : type === 'boolean' || type === 'null' ? exampleOf({ type }) : '';
};
