import { DocumentError } from './document.ts';
import { isNode, list, type Node, type Note, node, type TakeNote, text, Unfit } from './node.ts';
import { checkPlanned, distinct, type ImportOptions, type ImportPlan, planOne } from './plan.ts';
import { planOpenApi } from './plan-openapi.ts';
import { makeService } from './service.ts';
import { fitDescription, fitName } from './text.ts';

/**
 * Plans the import of a parsed document: OpenAPI 3.0 to 3.2, Swagger 2.0, or a service description (specification section 2.6).
 * Every intent that is planned passes the checks of the registry.
 * @throws DocumentError if the document is none of these, or if a required option is missing
 */
export function planImport(document: unknown, options: ImportOptions): ImportPlan {
  const { openapi, swagger, registry, ...members } = node(document);
  if (/^3\.[012]\./.test(`${openapi}.`) || swagger === '2.0') return planOpenApi(document, options);
  if (members['service-info'] !== undefined && members.intents !== undefined) return planServiceDescription(members, options);
  throw new DocumentError(
    registry === undefined
      ? 'The document cannot be imported. It must be OpenAPI 3.0, 3.1 or 3.2 (openapi: 3.1.0), Swagger 2.0 (swagger: "2.0") or a service description (service-info and intents).'
      : 'The document is a registry file. Use "apply" for it.',
  );
}

/** Members of an intent that a description may show, but that the registry sets. */
const assigned = ['intent_id', 'service_id', 'service_name', 'match'];

/** Plans the import of a service description (specification section 2.6). Its intents keep their uids. */
function planServiceDescription(root: Node, options: ImportOptions): ImportPlan {
  const notes: Note[] = [];
  const take: TakeNote = (path, note) => notes.push({ path, note });
  const info = node(root['service-info']);
  const url = options.baseUrl ?? text(info.service_url);
  if (url === undefined || !URL.canParse(url)) {
    throw new DocumentError('The service description gives no service_url. Give one with --base-url.');
  }
  // the member's name begins with the protocol's, whatever that is: `proto-policy-file`
  const [, policyUrl] = Object.entries(root).find(([name, value]) => name.endsWith('-policy-file') && typeof value === 'string') ?? [];
  const service = makeService(
    {
      service_name: options.serviceName ?? text(info.name),
      description: text(info.description),
      service_url: url,
      policy_url: text(policyUrl),
      service_logo_url: text(info.service_logo_url),
      service_terms_of_service_url: text(info.service_terms_of_service_url),
      service_privacy_policy_url: text(info.service_privacy_policy_url),
    },
    options.headers ?? {},
    '/service-info',
    take,
  );
  const plan: ImportPlan = { service, intents: [], skipped: [], notes: [], credentials: [], credentialOptions: [] };
  const seen = new Set<string>();
  for (const [index, given] of list(root.intents).entries()) {
    const path = `/intents/${index}`;
    const operation = text(node(given).intent_uid) ?? path;
    const members = Object.entries(node(given)).filter(([name]) => !assigned.includes(name));
    const intent = planOne(operation, plan.skipped, () => {
      const checked = checkPlanned(fitTexts(Object.fromEntries(members), path, take), path, url, options);
      if (seen.has(operation)) throw new Unfit(path, 'has the same intent_uid as another one');
      return checked;
    });
    if (intent === undefined) continue;
    if (typeof node(given).endpoint === 'string')
      take(`${path}/endpoint`, 'the endpoint is an address alone; it will be called with POST and JSON');
    seen.add(operation);
    plan.intents.push(intent);
  }
  return { ...plan, notes: distinct(notes) };
}

/** An intent of a description, whose texts the registry accepts. What is no text is left to the checks of the registry. */
function fitTexts(intent: Node, path: string, take: TakeNote): Node {
  const fitted = Object.entries(intent).map(([member, value]): [string, unknown] => {
    const place = `${path}/${member}`;
    if (typeof value === 'string' && (member === 'intent_name' || member === 'category'))
      return [member, fitName(value, place, take) ?? value];
    if (typeof value === 'string' && member === 'description') return [member, fitDescription(value, place, take) ?? value];
    if (Array.isArray(value) && member === 'tags')
      return [member, value.map((tag, at) => (typeof tag === 'string' ? (fitName(tag, `${place}/${at}`, take, 64) ?? tag) : tag))];
    if (Array.isArray(value) && member.endsWith('_parameters'))
      return [member, value.map((parameter, at) => (isNode(parameter) ? fitParameter(parameter, `${place}/${at}`, take) : parameter))];
    return [member, value];
  });
  return Object.fromEntries(fitted);
}

function fitParameter(parameter: Node, path: string, take: TakeNote): Node {
  if (typeof parameter.description !== 'string') return parameter;
  const { description, ...rest } = parameter;
  const fitted = fitDescription(description, `${path}/description`, take);
  return fitted === undefined ? rest : { ...rest, description: fitted };
}
