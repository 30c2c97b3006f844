// Records what a real API server answers to the cases in libs/kube-semantics/src/testdata/cases/*.yaml, next to them as
// NAME.answers.json. The tests replay the cases on the embedded server's semantics and compare.
//   node scripts/record-kubernetes-answers.mjs [NAME…]
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { call, startServer, stopServer } from './real-api-server.mjs';

const cases = fileURLToPath(new URL('../libs/kube-semantics/src/testdata/cases/', import.meta.url));

const TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

function urlOf(resource, name, step) {
  const { group = '', version, plural, namespaced = true } = resource;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const collection = namespaced ? `${root}/namespaces/recording/${plural}` : `${root}/${plural}`;
  const query = new URLSearchParams({ fieldManager: step.manager ?? 'tester' });
  if (step.force) query.set('force', 'true');
  if (step.strict) query.set('fieldValidation', 'Strict');
  const path = step.create === undefined ? `${collection}/${name}` : collection;
  return `${path}${step.subresource ? `/${step.subresource}` : ''}?${query}`;
}

/** Without what differs from run to run; times stay visible as present or not. */
function normalize(object) {
  const {
    uid: _,
    resourceVersion: __,
    creationTimestamp: ___,
    selfLink: ____,
    generation: _____,
    ...metadata
  } = object.metadata;
  const managedFields = metadata.managedFields?.map(({ time, ...entry }) =>
    time ? { ...entry, time: 'TIME' } : entry,
  );
  return { ...object, metadata: managedFields ? { ...metadata, managedFields } : metadata };
}

async function perform(port, resource, name, step) {
  const url = urlOf(resource, name, step);
  if (step.create !== undefined) return call(port, 'POST', url, step.create);
  if (step.update !== undefined) {
    const { body } = await call(port, 'GET', url);
    const { managedFields: _, ...metadata } = body.metadata;
    const next = {
      ...step.update,
      metadata: { resourceVersion: metadata.resourceVersion, uid: metadata.uid, ...step.update.metadata },
    };
    return call(port, 'PUT', url, next);
  }
  const [type] = Object.keys(TYPES).filter((key) => step[key] !== undefined);
  return call(port, 'PATCH', url, step[type], TYPES[type]);
}

async function record(port, file) {
  const suite = parse(readFileSync(join(cases, file), 'utf8'));
  for (const crd of suite.crds ?? []) {
    const made = await call(port, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
    if (made.code >= 300) throw new Error(`${file}: ${JSON.stringify(made.body)}`);
    const { group, versions, names } = crd.spec;
    for (let i = 0; i < 100; i++) {
      const listed = await call(port, 'GET', `/apis/${group}/${versions[0].name}/${names.plural}`);
      const documents = await call(port, 'GET', `/openapi/v3/apis/${group}/${versions[0].name}`);
      if (
        listed.code === 200 &&
        documents.code === 200 &&
        JSON.stringify(documents.body).includes(`"${names.kind}"`)
      )
        break;
      await sleep(100);
    }
  }
  const answers = {};
  for (const one of suite.cases) {
    const resource = { ...suite.resource, ...one.resource };
    const first = one.steps[0];
    const name = (first.create ?? first.apply)?.metadata?.name;
    answers[one.name] = [];
    for (const step of one.steps) {
      const { code, body } = await perform(port, resource, name, step);
      const answer =
        code < 300
          ? { object: normalize(body) }
          : { code, reason: body.reason, message: body.message, causes: body.details?.causes };
      answers[one.name].push(answer);
    }
    if (name !== undefined)
      await call(
        port,
        'DELETE',
        `${urlOf(resource, name, {}).split('?')[0]}?gracePeriodSeconds=0&propagationPolicy=Background`,
      );
  }
  writeFileSync(join(cases, file.replace('.yaml', '.answers.json')), `${JSON.stringify(answers, null, 1)}\n`);
  console.log(`${file}: ${suite.cases.length} cases`);
}

try {
  const port = await startServer();
  await call(port, 'POST', '/api/v1/namespaces', { metadata: { name: 'recording' } });
  await call(port, 'POST', '/api/v1/namespaces/recording/serviceaccounts', { metadata: { name: 'default' } });
  const wanted = process.argv.slice(2);
  const files = readdirSync(cases).filter((file) => file.endsWith('.yaml'));
  for (const file of files.filter(
    (name) => wanted.length === 0 || wanted.includes(name.replace('.yaml', '')),
  )) {
    await record(port, file);
  }
} finally {
  await stopServer();
}
