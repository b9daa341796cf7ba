import { Annotations, CfnElement, type Stack } from 'aws-cdk-lib';

/** CloudFormation accepts 1,000,000 bytes; the CDK itself warns above 800,000. */
const maxBytes = 950_000;

const limited = new WeakSet<Stack>();

/** Reports an error if the template of a stack, with everything else that the app adds to it, is too large to deploy. */
export function limitTemplateSize(stack: Stack): void {
  if (limited.has(stack)) return;
  limited.add(stack);
  stack.node.addValidation({
    validate: () => {
      const { written, compact } = measureTemplate(stack);
      const inKb = (bytes: number) => `${Math.ceil(bytes / 1_000).toLocaleString('en')} KB`;
      if (written > maxBytes) {
        const indentation = `Set suppressTemplateIndentation on the stack, which makes it ${inKb(compact)}. `;
        Annotations.of(stack).addError(
          `The template has ${inKb(written)}, and CloudFormation accepts at most ${inKb(1_000_000)}. ${compact < written ? indentation : ''}Give each gate a stack of its own, move other resources to another stack, or use fewer settings.`,
        );
      }
      return [];
    },
  });
}

/** The bytes of a template as the CDK will write it, and without indentation. Rendering takes a few tenths of a second. */
function measureTemplate(stack: Stack): { written: number; compact: number } {
  const sections: Record<string, object> = {};
  const elements = stack.node.findAll().filter((child) => CfnElement.isCfnElement(child) && child.stack === stack) as CfnElement[];
  for (const element of elements) {
    for (const [section, entries] of Object.entries(stack.resolve(element._toCloudFormation()))) {
      sections[section] ??= {};
      Object.assign(sections[section], entries);
    }
  }
  const compact = Buffer.byteLength(JSON.stringify(sections));
  // The stack does not say publicly whether it indents.
  const isCompact = Reflect.get(stack, '_suppressTemplateIndentation') !== false;
  return { written: isCompact ? compact : Buffer.byteLength(JSON.stringify(sections, undefined, 1)), compact };
}
