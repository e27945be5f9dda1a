//! Vectors for texts, from a provider that speaks OpenAI's `/embeddings`.

use std::path::Path;

use domain::settings::{Embeddings, Provider, Settings};
use ports::model::ModelError;
use serde_json::{Value, json};

use super::fault::down;
use super::http::{Api, Remote};
use super::keys::Key;
use super::{help, http};

/// A longer vector is none.
const DIMENSIONS_MAX: usize = 8_192;

/// Turns texts into vectors.
pub(crate) struct Embedder {
    remote: Remote,
    model: String,
}

impl Embedder {
    /// What the settings name; `None` if they name nothing. Reads the key.
    pub(crate) fn new(home: &Path, settings: &Settings) -> Option<Result<Self, String>> {
        let Embeddings { provider, model } = settings.search.embeddings.as_ref()?;
        Some(match settings.providers.get(provider) {
            Some(Provider::OpenAi(endpoint)) => {
                let key = endpoint.key.clone().map(|source| Key::new(home, source));
                Remote::at(Api::OpenAi, http::EMBEDDINGS, endpoint, key)
                    .map(|remote| Self { remote, model: model.clone() })
            }
            Some(_) => Err(format!("search.embeddings: provider {provider:?} is not of the kind openai")),
            None => Err(format!(
                "search.embeddings: synod.yaml has no provider {provider:?}{}",
                help(provider, settings.providers.keys())
            )),
        })
    }

    /// The model's name: vectors of another one cannot be compared.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// One vector of length 1 for each text, in their order.
    pub(crate) async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
        let body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        let answer =
            self.remote.post(&body, &self.model).await.map_err(|ModelError { message, .. }| message)?;
        vectors(&answer, texts.len()).map_err(|what| down(format!("{}: {what}", self.model)).message)
    }
}

fn vectors(answer: &Value, count: usize) -> Result<Vec<Vec<f32>>, String> {
    let data = answer["data"].as_array().ok_or("the answer has no vectors")?;
    let mut vectors = vec![Vec::new(); count];
    for (n, item) in data.iter().enumerate() {
        let at = item["index"].as_u64().map_or(n, |index| usize::try_from(index).unwrap_or(usize::MAX));
        let numbers = item["embedding"].as_array().ok_or("an answer is no vector")?;
        if numbers.is_empty() || numbers.len() > DIMENSIONS_MAX {
            return Err(format!("a vector has {} dimensions", numbers.len()));
        }
        let vector: Vec<f32> = numbers.iter().map(|n| n.as_f64().unwrap_or(0.0) as f32).collect();
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if !length.is_finite() || length == 0.0 {
            return Err("a vector has no direction".to_owned());
        }
        *vectors.get_mut(at).ok_or("there are more vectors than texts")? =
            vector.iter().map(|x| x / length).collect();
    }
    let dimensions = vectors.first().map_or(0, Vec::len);
    if dimensions == 0 || vectors.iter().any(|vector| vector.len() != dimensions) {
        return Err("there are fewer vectors than texts, or of other lengths".to_owned());
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_stand_at_the_place_of_their_text_with_length_one() {
        let answer = json!({"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]});
        assert_eq!(vectors(&answer, 2), Ok(vec![vec![0.6, 0.8], vec![0.0, 1.0]]));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for answer in [
            json!({}),
            json!({"data": []}),
            json!({"data": [{"embedding": [1, 0]}]}),
            json!({"data": [{"embedding": [1, 0]}, {"embedding": [1]}]}),
            json!({"data": [{"embedding": [1, 0]}, {"embedding": [0, 0]}]}),
            json!({"data": [{"embedding": [1, 0]}, {"index": 7, "embedding": [1, 0]}]}),
            json!({"data": [{"embedding": "x"}, {"embedding": [1, 0]}]}),
        ] {
            assert!(vectors(&answer, 2).is_err(), "{answer}");
        }
    }
}
